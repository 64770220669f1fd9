// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	_ "varve.dev/zarr/codec/extra"
	_ "varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
)

// frame is a row of the manifest of an archive of frames.py.
type frame struct {
	ID            string          `json:"id"`
	Configuration json.RawMessage `json:"configuration"`
	Plain         string          `json:"plain"`
	Frame         string          `json:"frame"`
}

// coder returns the codec of a row.
func (f frame) coder(t *testing.T) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(metadata.Extension{Name: "numcodecs." + f.ID, Configuration: f.Configuration})
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

// frames runs frames.py, which prints the number of frames that it wrote or read.
func frames(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(interpreter(t), append([]string{"frames.py"}, args...)...)
	var why bytes.Buffer
	c.Stderr = &why
	out, err := c.Output()
	if err != nil {
		t.Fatalf("frames.py %q: %v\n%s", args, err, why.String())
	}
	return strings.TrimSpace(string(out))
}

// TestFramesRead reads frames of all codecs of numcodecs, with many configurations.
func TestFramesRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frames.zip")
	n := frames(t, "write", path, fmt.Sprint(1+seed(t)%math.MaxInt32))
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var rows []frame
	if err := json.Unmarshal(member(t, &z.Reader, "manifest.json"), &rows); err != nil {
		t.Fatal(err)
	}
	for _, f := range rows {
		plain := member(t, &z.Reader, f.Plain)
		out, err := f.coder(t).Decode(nil, member(t, &z.Reader, f.Frame), int64(len(plain)))
		if err != nil || !bytes.Equal(out, plain) {
			t.Errorf("%s %s, %s: decoded %d of %d bytes, %v", f.ID, f.Configuration, f.Plain, len(out), len(plain), err)
		}
	}
	t.Logf("%s frames of numcodecs", n)
}

func member(t *testing.T, z *zip.Reader, name string) []byte {
	t.Helper()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFramesWritten lets numcodecs read the frames of Varve.
func TestFramesWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 7))
	path := filepath.Join(t.TempDir(), "frames.zip")
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(to)
	add := func(name string, data []byte) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var rows []frame
	for i, plain := range plains(r) {
		name := fmt.Sprintf("plain/%d", i)
		add(name, plain)
		for _, f := range configurations(r) {
			f.Plain, f.Frame = name, fmt.Sprintf("frame/%d", len(rows))
			out, err := f.coder(t).Encode(nil, plain)
			if err != nil {
				t.Fatalf("%s %s: %v", f.ID, f.Configuration, err)
			}
			add(f.Frame, out)
			rows = append(rows, f)
		}
	}
	manifest, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	add("manifest.json", manifest)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s frames of Varve", frames(t, "read", path))
}

// plains returns byte strings of several kinds. Their lengths are positive multiples of
// 48, because some codecs of numcodecs refuse other lengths.
func plains(r *rand.Rand) [][]byte {
	noise, field, few := make([]byte, 48*(1+r.IntN(2000))), make([]byte, 48*(1+r.IntN(20_000))), make([]byte, 48*(1+r.IntN(20_000)))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for i := range field {
		field[i] = byte(100*math.Sin(float64(i)/500)) + byte(r.IntN(4))
	}
	for i := range few {
		few[i] = byte(r.IntN(3) / 2)
	}
	return [][]byte{make([]byte, 48), make([]byte, 480_000), noise, field, few}
}

// configurations returns every codec with a random configuration.
func configurations(r *rand.Rand) []frame {
	const raw, lzma1 = `{"format":3,"filters":[{"id":3,"dist":%d},{"id":33,"preset":%d}]}`, `{"format":3,"filters":[{"id":4611686018427387905,"preset":%d,"lp":1}]}`
	place := [...]string{"start", "end"}[r.IntN(2)]
	var list []frame
	for _, f := range []struct{ id, configuration string }{
		{"zlib", fmt.Sprintf(`{"level":%d}`, r.IntN(11)-1)},
		{"gzip", fmt.Sprintf(`{"level":%d}`, r.IntN(10))},
		{"bz2", fmt.Sprintf(`{"level":%d}`, 1+r.IntN(9))},
		{"lz4", fmt.Sprintf(`{"acceleration":%d}`, r.IntN(100))},
		{"zstd", fmt.Sprintf(`{"level":%d,"checksum":%t}`, r.IntN(40)-10, r.IntN(2) == 0)},
		{"shuffle", fmt.Sprintf(`{"elementsize":%d}`, []int{0, 1, 2, 3, 4, 6, 8, 16, 24}[r.IntN(9)])},
		{"adler32", fmt.Sprintf(`{"location":%q}`, place)},
		{"crc32", fmt.Sprintf(`{"location":%q}`, place)},
		{"crc32c", fmt.Sprintf(`{"location":%q}`, place)},
		{"fletcher32", `{}`},
		{"jenkins_lookup3", fmt.Sprintf(`{"initval":%d}`, r.Uint32())},
		{"base64", `{}`},
		{"blosc", fmt.Sprintf(`{"cname":%q,"clevel":%d,"shuffle":%d}`, []string{"lz4", "lz4hc", "blosclz", "zlib", "zstd"}[r.IntN(5)], r.IntN(10), r.IntN(4)-1)},
		{"lzma", fmt.Sprintf(`{"preset":%d}`, r.IntN(10))},
		{"lzma", fmt.Sprintf(`{"format":1,"check":%d}`, []int{-1, 0, 1, 4, 10}[r.IntN(5)])},
		{"lzma", fmt.Sprintf(`{"format":1,"filters":[{"id":33,"lc":%d,"lp":2,"pb":%d}]}`, r.IntN(3), r.IntN(5))},
		{"lzma", fmt.Sprintf(`{"format":2,"preset":%d}`, r.IntN(10))},
		{"lzma", fmt.Sprintf(raw, 1+r.IntN(256), r.IntN(10))},
		{"lzma", fmt.Sprintf(lzma1, r.IntN(10))},
	} {
		list = append(list, frame{ID: f.id, Configuration: json.RawMessage(f.configuration)})
	}
	return list
}
