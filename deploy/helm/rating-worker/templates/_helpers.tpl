{{- define "rating-worker.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/* At most 52 characters: a pod's name, and a label of a StatefulSet's revision, are longer than it by up to 11. */}}
{{- define "rating-worker.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "rating-worker.selector" -}}
app.kubernetes.io/name: {{ include "rating-worker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rating-worker.labels" -}}
{{ include "rating-worker.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "rating-worker.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "rating-worker.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "rating-worker.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{/* Helm reads every number as a float: 33554432 must not become 3.3554432e+07. */}}
{{- define "rating-worker.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}

{{/* What a worker and every job of its has in its environment. */}}
{{- define "rating-worker.environment" -}}
- {name: RATING_SECRETS_DIR, value: /run/secrets/rating-worker}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ include "rating-worker.text" $value | quote }}}
{{- end }}
{{- range $name, $source := .Values.files }}
- {name: {{ $name }}, value: {{ $source.path | default (printf "/etc/rating-worker/files/%s" $name) }}}
{{- end }}
{{- with .Values.policyFiles.keys }}
- name: RATING_POLICY_FILES
  value: {{ range $i, $key := . }}{{ if $i }},{{ end }}/etc/rating-worker/policies/{{ $key }}{{ end }}
{{- end }}
{{- end }}

{{/* Empty where no file is a key of a Secret or a ConfigMap. */}}
{{- define "rating-worker.filesToMount" -}}
{{- range .Values.files }}{{ if not .path }}yes{{ end }}{{ end }}
{{- end }}

{{- define "rating-worker.mounts" -}}
- {name: secrets, mountPath: /run/secrets/rating-worker, readOnly: true}
{{- if include "rating-worker.filesToMount" . }}
- {name: files, mountPath: /etc/rating-worker/files, readOnly: true}
{{- end }}
{{- if .Values.policyFiles.keys }}
- {name: policies, mountPath: /etc/rating-worker/policies, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of a dict with the root as `root` and the secrets as `secrets`. Each file is named after its variable. */}}
{{- define "rating-worker.volumes" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $source := .secrets }}
      - secret:
          name: {{ $source.secretName }}
          items: [{key: {{ $source.key | quote }}, path: {{ $name }}}]
      {{- end }}
{{- if include "rating-worker.filesToMount" .root }}
- name: files
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $source := .root.Values.files }}
      {{- if not $source.path }}
      - {{ if $source.secretName }}secret{{ else }}configMap{{ end }}:
          name: {{ $source.secretName | default $source.configMapName }}
          items: [{key: {{ $source.key | quote }}, path: {{ $name }}}]
      {{- end }}
      {{- end }}
{{- end }}
{{- if .root.Values.policyFiles.keys }}
- name: policies
  configMap:
    name: {{ required "policyFiles.keys needs policyFiles.configMapName" .root.Values.policyFiles.configMapName }}
    items:
      {{- range .root.Values.policyFiles.keys }}
      - {key: {{ . | quote }}, path: {{ . | quote }}}
      {{- end }}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the pods of worker, jobs and test have in common, from the root. */}}
{{- define "rating-worker.pod" -}}
automountServiceAccountToken: false
# A Service `rating-…` would put variables into the environment that look like settings.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A container without its arguments, from the root. */}}
{{- define "rating-worker.container" -}}
image: {{ include "rating-worker.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  {{- include "rating-worker.mounts" . | nindent 2 }}
{{- end }}

{{/* Refuses values that each are allowed, and don't go together. */}}
{{- define "rating-worker.refuse" -}}
{{- $shutdown := .Values.settings.RATING_SHUTDOWN_TIMEOUT_S | default 25 }}
{{- if le (float64 .Values.terminationGracePeriodSeconds) (float64 $shutdown) }}
{{- fail (printf "terminationGracePeriodSeconds is %v: it must be above RATING_SHUTDOWN_TIMEOUT_S, which is %v, or the worker is killed in the midst of its stop" .Values.terminationGracePeriodSeconds $shutdown) }}
{{- end }}
{{- if and .Values.keda.enabled (gt (int .Values.keda.maxReplicas) (int .Values.topics.partitions)) }}
{{- fail (printf "keda.maxReplicas is %v: it must be topics.partitions at most, which is %v, since a worker without a partition has no work" .Values.keda.maxReplicas .Values.topics.partitions) }}
{{- end }}
{{- if and .Values.keda.enabled (gt (int .Values.keda.minReplicas) (int .Values.keda.maxReplicas)) }}
{{- fail (printf "keda.minReplicas is %v: it must be keda.maxReplicas at most, which is %v" .Values.keda.minReplicas .Values.keda.maxReplicas) }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
{{- range splitList "," (.Values.settings.RATING_KAFKA_BOOTSTRAP | default "127.0.0.1:9092") }}
{{- $port := splitList ":" . | last | int }}
{{- $open := list }}
{{- range $.Values.networkPolicy.egress.kafka.ports }}{{ $open = append $open (int .) }}{{ end }}
{{- if not (has $port $open) }}
{{- fail (printf "RATING_KAFKA_BOOTSTRAP names %s, and networkPolicy.egress.kafka.ports does not allow %d" . $port) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Ends a job at once where trying again can't help: 2 and 78 say that somebody must mend something first. */}}
{{- define "rating-worker.job" -}}
podFailurePolicy:
  rules:
    - action: FailJob
      onExitCodes: {operator: In, values: [2, 78]}
{{- end }}
