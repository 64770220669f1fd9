// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
)

// peakMiB returns the peak memory of the process since resetPeak, in MiB. It returns 0
// if the system does not report it.
func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := strings.CutPrefix(string(line), "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}

// resetPeak returns unused memory to the system and resets the peak.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600)
}

// BenchmarkGiB reads and writes 1 GiB of uint16 in chunks of 128³, and in shards of 256³
// with inner chunks of 64³, in a local store. overhead-MiB is the peak memory of the
// process without the block of elements; it includes the budget.
func BenchmarkGiB(b *testing.B) {
	if testing.Short() {
		b.Skip("moves gigabytes")
	}
	ctx := context.Background()
	const side = 512
	const planes = 1 << 30 / 2 / side / side
	for _, bench := range []struct {
		name   string
		codecs []metadata.Extension
		chunk  int64
		inner  []grid.Cut
	}{
		{"raw", fixture.Plain(), 128, nil}, {"zstd", fixture.Packed(), 128, nil},
		{"shards/raw", fixture.Plain(), 256, grid.Chunks(64, 64, 64)},
		{"shards/zstd", fixture.Packed(), 256, grid.Chunks(64, 64, 64)},
	} {
		for _, budget := range []int64{0, 16 << 20} {
			b.Run(fmt.Sprintf("%s/budget=%d", bench.name, budget>>20), func(b *testing.B) {
				a, err := zarr.CreateArray(ctx, b.TempDir()+"/a.zarr", zarr.Spec{
					Shape: []int64{planes, side, side}, Type: dtype.Uint16, Codecs: bench.codecs,
					Chunks: grid.Chunks(bench.chunk, bench.chunk, bench.chunk), InnerChunks: bench.inner,
				}, &zarr.CreateOptions{Options: zarr.Options{Budget: budget}})
				if err != nil {
					b.Fatal(err)
				}
				data := make([]uint16, 1<<29)
				for i := range data {
					x, y, z := i/side/side, i/side%side, i%side
					data[i] = uint16(z + y*y/32 + x*x*x)
				}
				run := func(name string, work func() error) {
					b.Run(name, func(b *testing.B) {
						b.SetBytes(1 << 30)
						resetPeak()
						before := peakMiB()
						for b.Loop() {
							if err := work(); err != nil {
								b.Fatal(err)
							}
						}
						b.ReportMetric(peakMiB()-before, "overhead-MiB")
						runtime.KeepAlive(data)
					})
				}
				run("write", func() error { return zarr.Write(ctx, a, nil, data) })
				run("read", func() error { return zarr.ReadInto(ctx, a, nil, data) })
			})
		}
	}
}
