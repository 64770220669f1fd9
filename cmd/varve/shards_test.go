// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// shardText returns the grid and the configuration of the shards of a node, in short.
func shardText(t *testing.T, node string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(node, "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Grid struct {
			Configuration struct {
				Regular json.RawMessage `json:"chunk_shape"`
				Listed  json.RawMessage `json:"chunk_shapes"`
			}
		} `json:"chunk_grid"`
		Codecs []struct {
			Name          string
			Configuration struct {
				Shape json.RawMessage `json:"chunk_shape"`
				Grid  struct {
					Configuration struct {
						Listed json.RawMessage `json:"chunk_shapes"`
					}
				} `json:"chunk_grid"`
				Codecs []struct{ Name string }
				At     string `json:"index_location"`
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil || len(doc.Codecs) != 1 || doc.Codecs[0].Name != "sharding_indexed" {
		t.Fatalf("%v in %s", err, data)
	}
	c, g := doc.Codecs[0].Configuration, doc.Grid.Configuration
	text := compactAll(g.Regular, g.Listed) + " / " + compactAll(c.Shape, c.Grid.Configuration.Listed)
	if c.At != "end" {
		text += " " + c.At
	}
	for _, inner := range c.Codecs {
		text += " " + inner.Name
	}
	return strings.TrimSuffix(text, " bytes zstd")
}

// compactAll returns several texts without white space.
func compactAll(raw ...json.RawMessage) (text string) {
	for _, r := range raw {
		if r != nil {
			text += phrase.Compact(r)
		}
	}
	return text
}

func TestCreateShards(t *testing.T) {
	labels := filepath.Join(t.TempDir(), "labels")
	overwrite(t, labels, "400\n600")
	start := []string{"--start", "2019-01-01", "--step", "1d"}
	for _, c := range []struct {
		shards, chunks string
		more           []string
		want           string
	}{
		{"auto", "", nil, "[1024,2048] / [512,512]"},
		{"auto", "auto", nil, "[1024,2048] / [512,512]"},
		{"auto", "10", nil, "[1000,2000] / [10,10]"},
		{"auto", "[10,-1]", nil, "[1000,2000] / [10,2000]"},
		{"auto", "64KiB", nil, "[1024,2048] / [128,128]"},
		{"1MiB", "64KiB", nil, "[512,512] / [128,128]"},
		{"1MiB", "[100,100]", nil, "[500,400] / [100,100]"},
		{"400", "", nil, "[400,400] / [400,400]"},
		{"[1000,900]", "", nil, "[1000,900] / [500,450]"},
		{"[1000,997]", "64KiB", nil, "[1000,997] / [125,1]"},
		{"100", "5", nil, "[100,100] / [5,5]"},
		{"[100,200]", "[10,200]", []string{"--index-location", "start", "--compressor", "gzip:3"}, "[100,200] / [10,200] start bytes gzip"},
		{"[100,200]", "[10,-1]", []string{"--index-location", "end", "--codecs", `[{"name":"bytes","configuration":{"endian":"big"}},"crc32c"]`}, "[100,200] / [10,200] bytes crc32c"},
		{"[[[300,2],400],1000]", "[-1,50]", nil, "[[[300,2],400],1000] / [100,50]"},
		{"[[300,300,400],1000]", "20", nil, "[[[300,2],400],1000] / [20,20]"},
		{"[[300,700],1000]", "20", []string{"--list-edges"}, "[[300,700],[[1000,2]]] / [20,20]"},
		{"calendar:year", "[1,500]", start, "[[365,366,365],2000] / [1,500]"},
		{`["calendar:year",500]`, "", start, "[[365,366,365],500] / [1,500]"},
		{"groups:" + labels, "50", nil, "[[400,600],2000] / [50,50]"},
		{"bounded:500", "100", nil, "[500,500] / [100,100]"},
		{`{"name":"regular","configuration":{"chunk_shape":[2000,50]}}`, "50", nil, "[2000,50] / [50,50]"},
		{"100", "7", []string{"--experimental", "inner-chunks"}, "[100,100] / [7,7]"},
		{"[[700,300],100]", "[90,200]", []string{"--experimental", "inner-chunks"}, "[[700,300],100] / [90,200]"},
		{"100", "[[50,[30,1],20],7]", []string{"--experimental", "inner-chunks"}, "[100,100] / [[50,30,20],[[7,14],2]]"},
		{"[100,50]", "[[50,50],25]", []string{"--experimental", "inner-chunks"}, "[100,50] / [[[50,2]],[[25,2]]]"},
		{"[100,50]", "[[60,40],75]", []string{"--experimental", "inner-chunks"}, "[100,50] / [[60,40],[50]]"},
	} {
		args := append([]string{"--shape", "1000,2000", "--dtype", "float32", "--shards", c.shards}, c.more...)
		if c.chunks != "" {
			args = append(args, "--chunks", c.chunks)
		}
		if got := shardText(t, newNode(t, args...)); got != c.want {
			t.Errorf("--shards %s --chunks %s: %s, want %s", c.shards, c.chunks, got, c.want)
		}
	}
	for _, c := range []struct{ shape, shards, chunks, want string }{
		{"", "auto", "auto", "[] / []"}, {"0", "auto", "auto", "[131072] / [131072]"}, {"0", "10", "-1", "[10] / [10]"}, {"0", "[[10,20]]", "auto", "[[10,20]] / [10]"},
		{"25000,18000,6000", "8GiB", "256KiB", "[2048,2048,2048] / [64,64,64]"}, {"25000,18000,6000", "2048", "64", "[2048,2048,2048] / [64,64,64]"},
		{"9223372036854775807", "9223372036854775807", "1317624576693539401", "[9223372036854775807] / [1317624576693539401]"},
	} {
		if got := shardText(t, newNode(t, "--shape", c.shape, "--dtype", "int8", "--shards", c.shards, "--chunks", c.chunks, "--limit", "4EiB")); got != c.want {
			t.Errorf("%s: --shards %s --chunks %s: %s, want %s", c.shape, c.shards, c.chunks, got, c.want)
		}
	}
}

// TestShardsRoundTrip writes and reads a sharded array with all commands that use values.
func TestShardsRoundTrip(t *testing.T) {
	node := newNode(t, "--shape", "10,10", "--dtype", "int16", "--shards", "[[4,6],10]", "--chunks", "[2,5]", "--index-location", "start")
	must(t, numbers(0, 100), "write", node, "--format", "json")
	must(t, "", "write", node, "--value", "-1", "--select", "3:5,4:6")
	plain := newNode(t, "--shape", "10,10", "--dtype", "int16", "--chunks", "10")
	must(t, numbers(0, 100), "write", plain, "--format", "json")
	must(t, "", "write", plain, "--value", "-1", "--select", "3:5,4:6")
	must(t, "", "equal", node, plain)
	for _, n := range []string{node, plain} {
		must(t, strings.Repeat("abcd", 20), "append", n)
	}
	must(t, "", "equal", node, plain)
	if got := decode(t, must(t, "", "info", "--stats", "--json", node)); got["chunks_stored"] != 3.0 {
		t.Error(got)
	}
	from := newNode(t, "--from", npyExport(t, plain), "--shards", "7", "--chunks", "7")
	must(t, "", "equal", from, plain)
}

// npyExport returns a .npy file of an array.
func npyExport(t *testing.T, node string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.npy")
	must(t, "", "export", node, "-o", file)
	return file
}

// FuzzShards cuts an array into shards and inner chunks by two texts. Accepted texts must
// make an array.
func FuzzShards(f *testing.F) {
	for _, text := range [][2]string{
		{"auto", "auto"}, {"auto", "10"}, {"1MiB", "1KiB"}, {"[10,20]", "[5,-1]"}, {"[[10,20,30],25]", "5"}, {"[20,10]", "[[5,15],[[5,2]]]"},
		{"[9223372036854775807,1]", "auto"}, {"[[[1,9223372036854775807]],1]", "-1"}, {"12", "[[5,7],9]"}, {"calendar:month", "1"}, {"bounded:[4,-1]", "[2,1]"},
	} {
		f.Add(text[0], text[1], int64(60), int64(100), true)
		f.Add(text[0], text[1], int64(0), int64(1)<<62, false)
	}
	f.Fuzz(func(t *testing.T, shards, chunks string, n, m int64, clips bool) {
		s := chunking.Shards{Clips: clips}
		var err, also error
		s.Shards, err = chunking.Parse(shards)
		s.Inner, also = chunking.Parse(chunks)
		if err != nil || also != nil || s.Check() != nil {
			return
		}
		shape := []int64{max(n, 0), max(m, 0)}
		read := func(string) ([]byte, error) { return nil, os.ErrNotExist }
		at := chunking.Site{Location: "a", Times: &growth.Times{Start: "2024-02-20", Step: "1d"}, ReadFile: read, Options: grid.ParseOptions{}}
		g, cuts, err := s.Cut(t.Context(), shape, dtype.Int16, at)
		if err == nil {
			spec := zarr.Spec{Shape: shape, Type: dtype.Int16, Grid: g, InnerChunks: cuts}
			opt := &zarr.CreateOptions{Options: zarr.Options{Experimental: zarr.Experimental{InnerChunks: clips}}}
			_, err = zarr.At(memstore.New(), "").CreateArray(t.Context(), spec, opt)
		}
		if k := zarr.KindOf(err); err != nil && k != "invalid-argument" && k != "overflow" && k != "unsupported" && k != "limit" && k != "not-found" {
			t.Fatalf("%q, %q: kind %s of %v", shards, chunks, k, err)
		}
	})
}

// TestResizeRoundUp grows an array to a shape that inner chunks do not divide.
func TestResizeRoundUp(t *testing.T) {
	node := newNode(t, "--shape", "10", "--dtype", "int16", "--shards", "[[10]]", "--chunks", "5")
	_, errs, status := execute(t, "", "resize", node, "--shape", "13", "--json")
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if message, _ := facts["message"].(string); status != 1 || facts["kind"] != "invalid-argument" || facts["axis"] != 0.0 || !strings.Contains(message, "--round-up") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "resize", node, "--shape", "13", "--round-up")
	if out := must(t, "", "info", node); !strings.Contains(out, "10, 3") {
		t.Error(out)
	}
}
