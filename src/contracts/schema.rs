//! Every schema of this version, embedded, and the validators made from them at build time.
