// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"varve.dev/zarr/codec"
)

// bloscCase is a configuration with which both implementations write a frame.
type bloscCase struct {
	Name    string `json:"name"`
	Cname   string `json:"cname"`
	Level   int    `json:"level"`
	Shuffle int    `json:"shuffle"`
	Element int    `json:"element"`
	Block   int    `json:"block"`
}

// codec returns the codec of the case.
func (c bloscCase) codec(t *testing.T) codec.BytesBytes {
	t.Helper()
	made, err := codec.Default.New(codec.Blosc(codec.BloscOptions{
		Compressor: c.Cname, Level: c.Level, Shuffle: []string{"noshuffle", "shuffle", "bitshuffle"}[c.Shuffle],
		Element: c.Element, Block: c.Block,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return made.(codec.BytesBytes)
}

// randomContent returns up to a few hundred thousand bytes of random compressibility,
// not always whole elements.
func randomContent(r *rand.Rand, element int) []byte {
	n := r.IntN(1 << (4 + r.IntN(16)))
	if r.IntN(4) > 0 {
		n = n / element * element
	}
	b := make([]byte, n)
	mask, run := byte(1<<r.IntN(9)-1), 1+r.IntN(200)
	for i := range b {
		if b[i] = byte(r.Uint32()) & mask; i >= run && r.IntN(8) > 0 {
			b[i] = b[i-run]
		}
	}
	return b
}

// TestBlosc lets Varve and c-blosc encode the same content, and decode the frames of
// each other.
func TestBlosc(t *testing.T) {
	t.Parallel()
	python, seed, folder := interpreter(t), seed(t), t.TempDir()
	r := rand.New(rand.NewPCG(seed, 0))
	var list []bloscCase
	contents := map[string][]byte{}
	for i := range 10 * cases() {
		c := bloscCase{
			fmt.Sprint(i), []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}[r.IntN(6)], r.IntN(10), r.IntN(3),
			[]int{1, 2, 3, 4, 6, 8, 12, 16, 17, 32, 255, 256, 1000}[r.IntN(13)], r.IntN(2) * r.IntN(1<<(1+r.IntN(19))),
		}
		content := randomContent(r, c.Element)
		frame, err := c.codec(t).Encode(nil, content)
		if err != nil {
			t.Fatal(err)
		}
		save(t, filepath.Join(folder, c.Name+".content"), content)
		save(t, filepath.Join(folder, c.Name+".frame"), frame)
		contents[c.Name], list = content, append(list, c)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(folder, "cases.json"), text)
	out, err := exec.Command(python, "-B", "blosc_check.py", folder).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%s (%v)", out, err)
	}
	read := 0
	for _, c := range list {
		frame, err := os.ReadFile(filepath.Join(folder, c.Name+".theirs"))
		if err != nil {
			continue // numcodecs lacks the compressor
		}
		want := contents[c.Name]
		got, err := c.codec(t).Decode(nil, frame, int64(len(want)))
		if read++; err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: the content differs from that which c-blosc encoded, %v", c, err)
		}
	}
	t.Logf("%d frames written, %d read", len(list), read)
	if read < len(list)/2 {
		t.Errorf("c-blosc wrote %d frames of %d", read, len(list))
	}
}

func save(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
