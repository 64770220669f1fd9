// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
)

func TestConfiguration(t *testing.T) {
	for raw, want := range map[string]any{
		`{"cname":"lz4","clevel":1,"shuffle":"shuffle","typesize":4,"blocksize":0}`:     coder{kindLZ4, 1, byBytes, 4, 0},
		`{"cname":"blosclz","clevel":0,"shuffle":"noshuffle","blocksize":1024}`:         coder{kindBloscLZ, 0, noFilter, 1, 1024},
		`{"cname":"zlib","clevel":9.0,"shuffle":"noshuffle","typesize":-1}`:             coder{kindZlib, 9, noFilter, 1, 0},
		`{"cname":"snappy","shuffle":"bitshuffle","typesize":255}`:                      coder{kindSnappy, 5, byBits, 255, 0},
		`{"cname":"lz4hc","shuffle":"bitshuffle","typesize":256}`:                       coder{kindLZ4HC, 5, byBits, 1, 0},
		`{"cname":"lz4","shuffle":"shuffle","typesize":8,"blocksize":9007199254740992}`: coder{kindLZ4, 5, byBytes, 8, maxBlock},
		`{}`:                                  coder{kindZstd, 5, noFilter, 1, 0},
		`{"cname":"lz4","shuffle":"shuffle"}`: nil,
		`{"cname":"lz4","shuffle":"shuffle","typesize":-1}`:  nil,
		`{"cname":"lz4","shuffle":"shuffle","typesize":1.5}`: nil,
		`{"cname":"lz4","shuffle":"shuffle","typesize":"4"}`: nil,
		`{"cname":"lz4","shuffle":"auto","typesize":4}`:      nil,
		`{"cname":"lz4","shuffle":1,"typesize":4}`:           nil,
		`{"cname":"zip","shuffle":"noshuffle"}`:              nil,
		`{"cname":"LZ4","shuffle":"noshuffle"}`:              nil,
		`{"cname":null}`:                                     nil,
		`{"clevel":10}`:                                      nil,
		`{"clevel":-1}`:                                      nil,
		`{"blocksize":-1}`:                                   nil,
		`{"cname":"lz4","threads":2}`:                        nil,
		`null`:                                               nil,
	} {
		got, err := New([]byte(raw))
		if got != want || (err == nil) != (want != nil) || err != nil && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("New(%s) = %+v, %v; want %+v", raw, got, err, want)
		}
	}
}

// TestZeroTypeSize reads the typesize 0 as that of the data type, as format 2 does. No
// array is created with it.
func TestZeroTypeSize(t *testing.T) {
	for name, want := range map[string]int{"int32": 4, "int8": 1, "float64": 8} {
		made, err := New([]byte(`{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":0}`))
		if err != nil {
			t.Fatal(err)
		}
		u := made.(*unsized)
		typ, err := dtype.Parse(name, nil)
		if err == nil {
			err = u.Bind(codec.Spec{Type: typ})
		}
		e, repairs := u.Repaired()
		if err != nil || u.element != want || len(repairs) != 1 || repairs[0].Strict == nil || !strings.Contains(string(e.Configuration), fmt.Sprintf(`"typesize":%d`, want)) {
			t.Errorf("%s: %d bytes, %s, %v, %v", name, u.element, e.Configuration, repairs, err)
		}
	}
}

func ExampleNew() {
	made, err := New([]byte(`{"cname":"zstd","clevel":5,"shuffle":"shuffle","typesize":8,"blocksize":0}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	c := made.(codec.BytesBytes)
	frame, err := c.Encode(nil, make([]byte, 1<<20))
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := c.Decode(nil, frame, 1<<20)
	fmt.Println(len(content), len(frame) < 1<<10, err)
	// Output: 1048576 true <nil>
}

// TestConfigurationWithoutTypesize leaves out what shuffling needs. The message has no
// number that nobody gave.
func TestConfigurationWithoutTypesize(t *testing.T) {
	_, err := New([]byte(`{"cname":"lz4","shuffle":"bitshuffle"}`))
	if err == nil || !strings.Contains(err.Error(), "typesize is missing") {
		t.Error(err)
	}
}
