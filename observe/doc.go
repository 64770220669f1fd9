// SPDX-License-Identifier: Apache-2.0

// Package observe reports what the library does: every request to a store and every chunk
// that is decoded or encoded, with its key, its bytes, its duration and its outcome.
//
// An [Observer] receives an [Event] for each of them. Set it when nodes are opened
// (zarr.Options.Observer), or wrap it around a single store (package store/observed).
// [Counter] adds events up, [Log] writes them to log/slog, and the module
// varve.dev/zarr/observe/otel passes them to OpenTelemetry.
//
//	var c observe.Counter
//	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Observer: &c})
//	// Use a.
//	fmt.Println(c.Stats())
//
// Without an observer nothing is measured and no clock is read.
package observe
