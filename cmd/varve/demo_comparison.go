// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// regularFacts is the cost of the same appends on a regular grid.
type regularFacts struct {
	Chunk    int64 `json:"chunk"` // the length of a chunk along axis 0
	Bytes    int64 `json:"bytes_written"`
	MostOnce int64 `json:"most_bytes_by_one_append"`
}

// regular appends the same planes to an array in memory with a regular grid, and measures
// what is written. Its chunks have the length of the longest chunk of the archive.
func (d *demo) regular(ctx context.Context) error {
	spec, shape := d.origin.spec, d.facts.Before.Shape
	if spec.InnerChunks != nil || spec.Grid != nil || len(spec.Chunks) == 0 {
		return nil // with shards the comparison would not be fair
	}
	axis, err := grid.NewAxis(shape[0], spec.Chunks[0])
	if err != nil {
		return err
	}
	f := &regularFacts{Chunk: axis.Longest(grid.Interval{Stop: axis.Chunks()})}
	spec.Chunks = append([]grid.Cut{grid.Every(f.Chunk)}, spec.Chunks[1:]...)
	counter := new(observe.Counter)
	h := zarr.At(memstore.New(), "").With(&zarr.Options{Observer: counter})
	a, err := h.At(d.name).CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}})
	if err != nil {
		return err
	}
	last := grid.BoxOf(shape) // the appends touch only the last chunk
	last[0].Start = shape[0] - shape[0]%f.Chunk
	if last[0].Start < shape[0] {
		values, err := d.values(ctx, last, nil)
		if err == nil {
			err = a.WriteBytes(ctx, selection.BoxOf(last), values)
		}
		if err != nil {
			return err
		}
	}
	for i := range int64(appended) {
		plane := grid.BoxOf(shape)
		plane[0] = grid.Interval{Start: shape[0] + i, Stop: shape[0] + i + 1}
		values, err := d.values(ctx, plane, nil)
		if err != nil {
			return err
		}
		before := counter.Stats()
		if err := a.AppendBytes(ctx, 0, values, nil); err != nil {
			return err
		}
		written := counter.Stats().Sub(before)
		size := written.Written.Bytes
		f.Bytes, f.MostOnce = f.Bytes+size, max(f.MostOnce, size)
	}
	d.facts.Regular = f
	return d.say("   On a regular grid with chunks of %s along axis 0, the same appends write %s, up to %s\n   for one: each reads the last chunk and writes it again, until it is full.\n\n",
		phrase.Count(f.Chunk), phrase.Bytes(f.Bytes), phrase.Bytes(f.MostOnce))
}

// thisCommand returns how to call this program from the current shell: by its name if the
// shell finds it, by go run if that started it, otherwise by its path.
func thisCommand() string {
	self, err := os.Executable()
	if err != nil {
		return "varve"
	}
	if found, err := exec.LookPath("varve"); err == nil && sameFile(found, self) {
		return "varve"
	}
	// go run builds into a temporary folder, which it removes after the program ends.
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "go run ./cmd/varve"
	}
	return self
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
