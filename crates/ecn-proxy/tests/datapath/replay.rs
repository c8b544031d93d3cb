//! What the kernel decided, decided again.
