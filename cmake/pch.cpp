// Carries the precompiled header that every other target reuses.
