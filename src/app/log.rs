//! Logs each step to standard error; the one owner of the tracing subscriber.

/// Logs the steps' events as lines. Events hold no text of the repository.
pub(crate) fn to_stderr() {
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_max_level(tracing::Level::INFO)
        .finish();
    let _set_once = tracing::subscriber::set_global_default(subscriber);
}
