// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// BenchmarkBeside encodes and decodes the data in the folder VARVE_FRAMES, which
// bench/codecs/numcodecs.py writes: raw bytes and their encodings by numcodecs. It also
// reports the speed of the fastest run, because others vary on a busy machine.
func BenchmarkBeside(b *testing.B) {
	folder := os.Getenv("VARVE_FRAMES")
	if folder == "" {
		b.Skip("bench/codecs/numcodecs.py runs this")
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	var rows []struct {
		Row, Name, Plain, Frame string
		Configuration           json.RawMessage
	}
	if err := json.Unmarshal(read("manifest.json"), &rows); err != nil {
		b.Fatal(err)
	}
	for _, r := range rows {
		c := made(b, metadata.Extension{Name: r.Name, Configuration: r.Configuration})
		plain, frame := read(r.Plain), read(r.Frame)
		fastest(b, r.Row+"/encode", c, plain, func(dst []byte) ([]byte, error) { return c.Encode(dst, plain) })
		fastest(b, r.Row+"/decode", c, plain, func(dst []byte) ([]byte, error) { return c.Decode(dst, frame, int64(len(plain))) })
	}
}

// fastest measures one direction.
func fastest(b *testing.B, name string, c codec.BytesBytes, plain []byte, code func(dst []byte) ([]byte, error)) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(plain)))
		best, dst, size := time.Hour, make([]byte, 0, c.MaxEncoded(int64(len(plain)))), 0
		for b.Loop() {
			begin := time.Now()
			out, err := code(dst)
			if err != nil {
				b.Fatal(err)
			}
			best, size = min(best, time.Since(begin)), len(out)
		}
		b.ReportMetric(float64(len(plain))/best.Seconds()/1e6, "best-MB/s")
		b.ReportMetric(float64(len(plain))/float64(size), "ratio")
	})
}
