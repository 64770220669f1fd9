// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

//go:embed zarrita/read.js
var zarritaProgram string

// node is zarrita in a process of its own.
type node struct {
	in  *json.Encoder
	out *bufio.Reader
}

// zarritaAnswer is an answer of zarrita.
type zarritaAnswer struct {
	Shape []int64
	Type  string
	Data  json.RawMessage
	Error string
}

// startNode starts zarrita. It skips the test if zarrita is not installed.
func startNode(t *testing.T) *node {
	t.Helper()
	dir := filepath.Join(cache(), "zarrita")
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no Node, so nothing is compared with zarrita; install Node 20 or newer, and run interop/zarrita/setup")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "zarrita")); err != nil {
		t.Skip("zarrita is not installed, so nothing is compared with it; run interop/zarrita/setup")
	}
	command := exec.Command("node", "--input-type=module", "--eval", zarritaProgram)
	command.Dir, command.Stderr = dir, os.Stderr
	in, err := command.StdinPipe()
	check(t, err)
	out, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() { stop(t, in, command) })
	return &node{json.NewEncoder(in), bufio.NewReader(out)}
}

// read lets zarrita read a part of an array, or all of it if part is nil.
func (n *node) read(t *testing.T, path string, part region) (a zarritaAnswer) {
	t.Helper()
	check(t, n.in.Encode(map[string]any{"path": path, "part": part}))
	line, err := n.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("zarrita ended: %v", err)
	}
	check(t, json.Unmarshal(line, &a))
	if a.Error != "" {
		document, _ := os.ReadFile(filepath.Join(path, "zarr.json"))
		t.Fatalf("zarrita: %s\n%s", a.Error, document)
	}
	return a
}

// TestZarrita lets zarrita read arrays of Varve in both formats, with regular chunks and
// with shards.
func TestZarrita(t *testing.T) {
	n, seed := startNode(t), seed(t)
	seen := map[string]int{}
	for i := range max(150, cases()) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<8))
			s := specForZarrita(t, r)
			path := filepath.Join(t.TempDir(), "a.zarr")
			a, err := zarr.CreateArray(t.Context(), path, s, nil)
			check(t, err)
			defer a.Close()
			fillRandomly(t, r, a)
			compareZarrita(t, n, a, path, nil)
			if at := part(r, s.Shape); !slices.Contains(at.shape(), 0) {
				compareZarrita(t, n, a, path, at)
			}
			for _, c := range s.Codecs {
				seen[c.Name]++
			}
			seen[fmt.Sprint("format ", s.Format)]++
			if s.InnerChunks != nil {
				seen["shards"]++
			}
		})
	}
	t.Logf("arrays by codec: %v", seen)
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(zarritaCodecs(rand.New(rand.NewPCG(0, 0)), dtype.Int32))), []string{"shards", "format 2", "format 3"}) {
		if seen[name] == 0 {
			t.Errorf("no array with %s", name)
		}
	}
}

// zarritaCodecs returns the compressors that zarrita has, for elements of a type.
func zarritaCodecs(r *rand.Rand, typ dtype.Type) map[string]metadata.Extension {
	cname := pick(r, "blosclz", "lz4", "lz4hc", "zlib", "zstd")
	return map[string]metadata.Extension{
		"gzip": codec.Gzip(r.IntN(10)), "zstd": codec.ZstdChecksum(r.IntN(6), r.IntN(2) == 0), "crc32c": codec.CRC32C(),
		"blosc": codec.Blosc(codec.BloscOptions{
			Compressor: cname, Level: r.IntN(10), Shuffle: pick(r, "noshuffle", "shuffle", "bitshuffle"), Element: max(1, typ.Size()),
		}),
		"numcodecs.zlib": numcodecs.Zlib(r.IntN(10)), "numcodecs.lz4": numcodecs.LZ4(1), "numcodecs.shuffle": numcodecs.Shuffle(max(1, typ.Unit())),
	}
}

// specForZarrita returns an array of regular chunks or shards of a type that zarrita
// has. The shard index is at the end, because zarrita ignores its location.
func specForZarrita(t *testing.T, r *rand.Rand) zarr.Spec {
	t.Helper()
	names := []string{"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "string"}
	typ, err := dtype.Parse(names[r.IntN(len(names))], nil)
	check(t, err)
	s := zarr.Spec{Shape: randomShape(r), Type: typ, Format: pick(r, 3, 3, 3, 2)}
	sharded := s.Format == 3 && r.IntN(2) == 0 && !typ.Variable()
	for i, extent := range s.Shape {
		extent = max(1, extent) // zarrita does not read empty arrays
		s.Shape[i] = extent
		inner, times := 1+r.Int64N(extent/2+2), int64(1)
		if sharded {
			times = 1 + r.Int64N(3)
			s.InnerChunks = append(s.InnerChunks, grid.Every(inner))
		}
		s.Chunks = append(s.Chunks, grid.Every(inner*times))
	}
	s.KeyEncoding = pick(r, metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash)
	if s.Format == 2 {
		s.KeyEncoding = pick(r, metadata.V2Dot, metadata.V2Slash)
	}
	s.Codecs = chainForZarrita(r, s)
	return s
}

func chainForZarrita(r *rand.Rand, s zarr.Spec) (chain []metadata.Extension) {
	if r.IntN(3) == 0 && len(s.Shape) > 1 && s.Format == 3 {
		chain = append(chain, codec.Transpose(r.Perm(len(s.Shape))...))
	}
	switch {
	case s.Type.Variable():
		chain = append(chain, codec.VariableLength(s.Type))
	case s.Type.Unit() == 1:
		chain = append(chain, codec.Bytes(""))
	default:
		chain = append(chain, codec.Bytes(pick(r, "little", "big")))
	}
	known := zarritaCodecs(r, s.Type)
	shuffle := known["numcodecs.shuffle"]
	delete(known, "numcodecs.shuffle")
	if s.Format == 2 {
		delete(known, "crc32c")
	} else if !s.Type.Variable() && r.IntN(4) == 0 {
		chain = append(chain, shuffle)
	}
	names := slices.Sorted(maps.Keys(known))
	for range r.IntN(2 + s.Format/3) {
		chain = append(chain, known[names[r.IntN(len(names))]])
	}
	return chain
}

// fillRandomly writes a part of an array, so that some chunks are not stored.
func fillRandomly(t *testing.T, r *rand.Rand, a *zarr.Array) {
	t.Helper()
	n, box := int64(1), selection.Box{}
	for _, length := range a.Shape() {
		start := r.Int64N(length + 1)
		end := start + r.Int64N(length-start+1)
		if r.IntN(2) == 0 {
			start, end = 0, length
		}
		box = append(box, [2]int64{start, end})
		n *= end - start
	}
	if a.Type().Variable() {
		words := make([]string, n)
		for i := range words {
			words[i] = pick(r, "", "a", "größer", "日本", strings.Repeat("long ", 20))
		}
		check(t, zarr.Write(t.Context(), a, box, words))
		return
	}
	check(t, a.WriteBytes(t.Context(), box, randomElements(r, a.Type().Name(), int(n))))
}

// part returns a part of an array with steps.
func part(r *rand.Rand, shape []int64) region {
	list := region{}
	for _, n := range shape {
		start := r.Int64N(n + 1)
		list = append(list, [3]int64{start, start + r.Int64N(n-start+1), 1 + r.Int64N(3)})
	}
	return list
}

func compareZarrita(t *testing.T, n *node, a *zarr.Array, path string, at region) {
	t.Helper()
	sel := selection.Basic{}
	for _, s := range at {
		sel = append(sel, selection.Stepped(s[0], s[1], s[2]))
	}
	got := n.read(t, path, at)
	r, err := a.Select(sel)
	check(t, err)
	if !slices.Equal(got.Shape, r.Shape()) || got.Type != a.Type().Name() && !(a.Type().Variable() && got.Type == "v2:object") {
		t.Fatalf("zarrita finds %s %d, not %s %d", got.Type, got.Shape, a.Type(), r.Shape())
	}
	if a.Type().Variable() {
		want, err := zarr.Read[string](t.Context(), a, sel)
		check(t, err)
		var words []string
		check(t, json.Unmarshal(got.Data, &words))
		if !slices.Equal(words, want.Data) {
			t.Errorf("zarrita reads %.200q, not %.200q", words, want.Data)
		}
		return
	}
	want := make([]byte, r.Len()*int64(a.Type().Size()))
	check(t, a.ReadBytes(t.Context(), sel, want))
	if text := `"` + hex.EncodeToString(want) + `"`; string(got.Data) != text {
		t.Errorf("%s %d%v: zarrita reads %.200s, not %.200s", a.Type(), a.Shape(), at, got.Data, text)
	}
}
