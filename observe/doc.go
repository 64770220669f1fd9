// Package observe shows what the library does: every request to a store, every chunk that is decoded or encoded, with its key, its
// bytes, how long it took and how it ended.
//
// An [Observer] has one method and is given an [Event] each time. It is named when nodes are opened (zarr.Options.Observer), or wrapped
// around a store alone (package store/observed). [Counter] is one that adds up, [Log] one that writes to log/slog, and the module
// varve.dev/zarr/otel has one for OpenTelemetry. Without an observer nothing is measured, and no clock is read.
package observe
