"""No secret leaves: not to a model, a store, a stream or a screen."""
