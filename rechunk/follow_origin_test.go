// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"slices"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// document is that of an array with two axes.
const document = `{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"int8","fill_value":0,"attributes":{},
	"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},
	"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"codecs":[{"name":"bytes"}]}`

// FuzzOrigin parses origins. What is accepted stays the same when it is stored again, and
// has no chunk that the array does not have.
func FuzzOrigin(f *testing.F) {
	o := &origin{Document: "0123456789abcdef", Source: "a.zarr/t", Array: []byte(document), Region: grid.Box{{Start: 1}, {Start: 0, Stop: 2}}}
	o.chunks = []originChunk{{number: 0, version: 7}, {number: 3, version: 9, sum: [16]byte{1, 2}, summed: true}, {number: 5, version: 11}}
	data, err := o.marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(append(slices.Clone(data), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add([]byte(originMagic + "{}\n"))
	const most = 1 << 16
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := parseOrigin(data, metadata.Limits{}, most)
		if err != nil {
			return
		}
		all, _ := o.grid.NumChunks()
		last := int64(-1)
		for _, c := range o.chunks {
			if c.number <= last || c.number >= all {
				t.Fatalf("chunk %d of %d after %d", c.number, all, last)
			}
			last = c.number
		}
		again, err := o.marshal()
		if err != nil {
			t.Fatal(err)
		}
		p, err := parseOrigin(again, metadata.Limits{}, most)
		if err != nil || !slices.Equal(p.chunks, o.chunks) || p.Document != o.Document || p.Source != o.Source {
			t.Fatalf("%+v, want %+v (%v)", p, o, err)
		}
	})
}
