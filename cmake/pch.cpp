// This empty source exists for the precompiled header that all other targets reuse.
