//! What every reference server shares: arguments, listening, workers, TLS, limits, shutdown.
