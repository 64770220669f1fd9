// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"fmt"

	"varve.dev/zarr/metadata"
)

const months = `{"zarr_format": 3, "node_type": "array", "shape": [90], "data_type": "float32",
	"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[31, 28, 31]]}},
	"chunk_key_encoding": {"name": "default"}, "fill_value": "NaN", "codecs": ["bytes"],
	"attributes": {"units": "K"}}`

func ExampleParse() {
	node, err := metadata.Parse([]byte(months), metadata.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	switch n := node.(type) {
	case *metadata.Array:
		fmt.Println(n.Shape, n.DataType.Name, n.ChunkGrid.Name)
	case *metadata.Group:
		fmt.Println(string(n.Attributes))
	}
	// Output: [90] float32 rectilinear
}

func ExampleArray_Resized() {
	a, err := metadata.ParseArray([]byte(months), metadata.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	grid := a.ChunkGrid
	grid.Configuration = []byte(`{"kind": "inline", "chunk_shapes": [[31, 28, 31, 30]]}`)
	b := a.Resized([]int64{120}, grid)
	fmt.Println(a.Shape, b.Shape)
	// Output: [90] [120]
}

func ExampleKeyEncoding() {
	key := metadata.DefaultSlash.AppendKey(nil, []int64{0, 11})
	fmt.Println(string(key))
	index, ok := metadata.DefaultSlash.ParseKey("c/0/11", 2, nil)
	fmt.Println(index, ok)
	// Output:
	// c/0/11
	// [0 11] true
}

func ExampleSetAttribute() {
	raw, err := metadata.SetAttribute([]byte(`{"units":"K","scale":1.0}`), "units", []byte(`"degC"`))
	fmt.Println(string(raw), err)
	// Output: {"units":"degC","scale":1.0} <nil>
}

func ExampleConsolidated() {
	c, err := new(metadata.Consolidated).With("year/temperature", []byte(months), metadata.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for path := range c.Nodes() {
		fmt.Println(path)
	}
	// Output: year/temperature
}
