"""What no record asks for: marking who is inactive, decay, signals of manipulation, telling of changed policies."""
