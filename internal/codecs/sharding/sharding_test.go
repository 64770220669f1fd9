// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// outer returns the grid of shards of one shape, two along every axis.
func outer(t testing.TB, shard ...int64) *grid.Grid {
	t.Helper()
	shape, cuts := make([]int64, len(shard)), make([]grid.Cut, len(shard))
	for i, n := range shard {
		shape[i], cuts[i] = 2*n, grid.Every(n)
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// refused has configurations for shards of 12×20, and the texts of their errors.
var refused = []struct {
	name, configuration string
	env                 codec.Environment
	err                 error
	says                []string
}{
	{"rank", sharded([]int64{3}, jsonValues, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"1 axis", "has 2"}},
	{"no axes", sharded([]int64{}, jsonValues, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"0 axes", "has 2"}},
	{"does not divide", sharded([]int64{3, 7}, jsonValues, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration,
		[]string{"axis 1", "20 elements, which inner chunks of 7 do not divide: shards of 14 or 21 would do", "14 or 21 would do", "Experimental.InnerChunks"}},
	{"larger than the shard", sharded([]int64{24, 20}, jsonValues, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"axis 0", "24 would do"}},
	{"zero", sharded([]int64{3, 0}, jsonValues, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"axis 1", "at least one", "got 0"}},
	{"negative", sharded([]int64{-2, 4}, jsonValues, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"axis 0", "got -2"}},
	{"half", `{"chunk_shape":[1.5,2],"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{}, codec.ErrConfiguration, []string{"chunk_shape"}},
	{"shape is null", `{"chunk_shape":null,"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{}, codec.ErrConfiguration, []string{"chunk_shape"}},
	{"shape is missing", `{"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{}, codec.ErrConfiguration, []string{"chunk_shape", "missing"}},
	{"codecs are missing", `{"chunk_shape":[3,4],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{}, codec.ErrConfiguration, []string{`"codecs"`, "missing"}},
	{"index codecs are missing", `{"chunk_shape":[3,4],"codecs":[` + jsonValues + `]}`, codec.Environment{}, codec.ErrConfiguration, []string{`"index_codecs"`, "missing"}},
	{"codecs are none", sharded([]int64{3, 4}, "", jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"codecs:", "turns arrays into bytes"}},
	{"index codecs are none", sharded([]int64{3, 4}, jsonValues, "", "end"), codec.Environment{}, codec.ErrConfiguration, []string{"index_codecs", "turns arrays into bytes"}},
	{"codecs are two", sharded([]int64{3, 4}, jsonBytes+","+jsonBig, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"codecs: codec 1 (bytes)", "only one"}},
	{"index codecs are two", sharded([]int64{3, 4}, jsonValues, jsonBytes+","+jsonBig, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"index_codecs: codec 1 (bytes)", "only one"}},
	{"codecs are no list", `{"chunk_shape":[3,4],"codecs":{},"index_codecs":[` + jsonIndex + `]}`, codec.Environment{}, codec.ErrConfiguration, []string{`"codecs"`}},
	{"codec without name", sharded([]int64{3, 4}, `{}`, jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"codecs[0]"}},
	{"index of variable size", sharded([]int64{3, 4}, jsonValues, jsonBytes+","+jsonGzip, "end"), codec.Environment{}, codec.ErrConfiguration, []string{"index_codecs", "gzip", "crc32c"}},
	{"index in shards", sharded([]int64{3, 4}, jsonValues, nested(sharded([]int64{1, 1, 1}, jsonValues, jsonIndex, "end")), "end"), codec.Environment{}, codec.ErrConfiguration, []string{"index_codecs"}},
	{"middle", sharded([]int64{3, 4}, jsonValues, jsonIndex, "middle"), codec.Environment{}, codec.ErrConfiguration, []string{"index_location", `"middle"`, `"start" or "end"`}},
	{"unknown member", `{"chunk_shape":[3,4],"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `],"foo":1}`, codec.Environment{}, codec.ErrConfiguration, []string{"foo"}},
	{"unknown inner codec", sharded([]int64{3, 4}, jsonBytes+`,{"name":"brotli"}`, jsonIndex, "end"), codec.Environment{}, codec.ErrUnsupported,
		[]string{"codec 0 (sharding_indexed): codecs: codec 1 (brotli)"}},
	{"unknown inner codec, nested", sharded([]int64{6, 4}, nested(sharded([]int64{3, 4}, jsonBytes+`,{"name":"brotli"}`, jsonIndex, "end")), jsonIndex, "end"), codec.Environment{}, codec.ErrUnsupported,
		[]string{"codec 0 (sharding_indexed): codecs: codec 0 (sharding_indexed): codecs: codec 1 (brotli)"}},
	{"unknown index codec", sharded([]int64{3, 4}, jsonValues, jsonBytes+`,{"name":"adler32"}`, "end"), codec.Environment{}, codec.ErrUnsupported, []string{"index_codecs: codec 1 (adler32)"}},
	{"nested does not nest", sharded([]int64{6, 10}, nested(sharded([]int64{4, 5}, jsonValues, jsonIndex, "end")), jsonIndex, "end"), codec.Environment{}, codec.ErrConfiguration,
		[]string{"codecs: codec 0 (sharding_indexed)", "axis 0", "6 elements, which inner chunks of 4 do not divide: shards of 4 or 8 would do"}},
	{"nested does not nest, transposed", sharded([]int64{6, 10}, `{"name":"transpose","configuration":{"order":[1,0]}},`+nested(sharded([]int64{5, 4}, jsonValues, jsonIndex, "end")), jsonIndex, "end"), codec.Environment{},
		codec.ErrConfiguration, []string{"codecs: codec 1 (sharding_indexed)", "axis 0", "6 elements, which inner chunks of 4 do not divide: shards of 4 or 8 would do"}},
	{"lists without leave", `{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,8],[20]]}},"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{}, codec.ErrUnsupported,
		[]string{"Experimental.InnerChunks"}},
	{"lists of another sum", `{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,9],[20]]}},"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{Unaligned: true}, codec.ErrConfiguration,
		[]string{"axis 0", "13 elements together, a shard has 12"}},
	{"lists of another rank", `{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,8]]}},"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{Unaligned: true}, codec.ErrConfiguration,
		[]string{"chunk_grid has 1 axis"}},
	{"list and shape", `{"chunk_shape":[3,4],"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,8],[20]]}},"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{Unaligned: true}, codec.ErrConfiguration,
		[]string{"both"}},
	{"list and length", `{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,8],5]}},"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{Unaligned: true}, codec.ErrConfiguration,
		[]string{"axis 1", "list"}},
	{"regular grid", `{"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3,4]}},"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`, codec.Environment{Unaligned: true}, codec.ErrConfiguration,
		[]string{`"regular"`, "chunk_shape"}},
	{"no object", `[]`, codec.Environment{}, codec.ErrConfiguration, nil},
	{"nothing", ``, codec.Environment{}, codec.ErrConfiguration, nil},
}

// TestRefused refuses configurations, by the chain or by the grid of the shards, and says
// what is wrong where.
func TestRefused(t *testing.T) {
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			c, err := newChain(tt.configuration, 2, tt.env)
			if err == nil {
				err = c.CheckGrid(outer(t, 12, 20))
			}
			if !errors.Is(err, tt.err) {
				t.Fatalf("error is %v, want %v", err, tt.err)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v does not say %q", err, s)
				}
			}
		})
	}
}

// TestAccepted takes what is unusual but allowed.
func TestAccepted(t *testing.T) {
	for name, configuration := range map[string]string{
		"location at the end unless it is said": `{"chunk_shape":[3,4],"codecs":[` + jsonValues + `],"index_codecs":[` + jsonIndex + `]}`,
		"codecs by name alone":                  `{"chunk_shape":[12,20],"codecs":[` + jsonBytes + `,"crc32c"],"index_codecs":[` + jsonIndex + `]}`,
		"big endian index without checksum":     sharded([]int64{1, 1}, jsonValues, jsonBig, "start"),
		"transposed index":                      sharded([]int64{1, 1}, jsonValues, `{"name":"transpose","configuration":{"order":[2,1,0]}},`+jsonIndex, "start"),
		"two checksums":                         sharded([]int64{1, 1}, jsonValues, jsonIndex+","+jsonCRC, "start"),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newChain(configuration, 2, codec.Environment{})
			if err == nil {
				err = c.CheckGrid(outer(t, 12, 20))
			}
			if err != nil || !c.Divided() {
				t.Fatalf("divided %t (%v)", err == nil && c.Divided(), err)
			}
		})
	}
}

// TestLimits refuses shards of too many inner chunks, and inner chunks of too many bytes,
// before anything is read or taken.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		inner int64
		shard int64
		env   codec.Environment
		says  string
	}{
		{"2^24+1 inner chunks", 1, 1<<24 + 1, codec.Environment{}, "Limits.InnerChunks"},
		{"2^62 inner chunks", 1, 1 << 62, codec.Environment{}, "Limits.InnerChunks"},
		{"more than is asked for", 1, 5, codec.Environment{Inner: 4}, "at most 4"},
		{"inner chunk of 2^62 elements", 1 << 62, 1 << 62, codec.Environment{}, "Limits.Chunk"},
		{"inner chunk beyond the limit", 10, 20, codec.Environment{Chunk: 19}, "at most 19"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCoder(t, sharded([]int64{tt.inner}, jsonValues, jsonIndex, "end"), 1, tt.env)
			_, err := c.layout([]int64{tt.shard})
			if !errors.Is(err, codec.ErrLimit) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error is %v, want ErrLimit with %q", err, tt.says)
			}
		})
	}
}

// TestExtension writes configurations that New reads as they were meant.
func TestExtension(t *testing.T) {
	bytes := metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}
	for _, tt := range []struct {
		c    codec.Sharding
		want string
		err  error
	}{
		{codec.Sharding{Inner: []grid.Cut{grid.Every(3), grid.Every(4)}, Codecs: []metadata.Extension{bytes}}, sharded([]int64{3, 4}, jsonBytes, jsonIndex, "end"), nil},
		{codec.Sharding{Inner: []grid.Cut{}, Codecs: []metadata.Extension{bytes}, IndexCodecs: []metadata.Extension{bytes}, AtStart: true}, sharded(nil, jsonBytes, jsonBytes, "start"), nil},
		{codec.Sharding{Inner: []grid.Cut{grid.Edges(3, 4)}, Codecs: []metadata.Extension{bytes}},
			`{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[3,4]]}},"codecs":[` + jsonBytes + `],"index_codecs":[` + jsonIndex + `],"index_location":"end"}`, nil},
		{codec.Sharding{Inner: []grid.Cut{grid.Edges(3, 4), grid.Every(2)}, Codecs: []metadata.Extension{bytes}}, "", codec.ErrConfiguration},
		{codec.Sharding{Inner: []grid.Cut{grid.Every(0)}, Codecs: []metadata.Extension{bytes}}, "", codec.ErrConfiguration},
		{codec.Sharding{Inner: []grid.Cut{grid.Every(-1)}, Codecs: []metadata.Extension{bytes}}, "", codec.ErrConfiguration},
	} {
		t.Run(fmt.Sprint(tt.want), func(t *testing.T) {
			e, err := codec.Shards(tt.c)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error is %v, want %v", err, tt.err)
			}
			if got := strings.ReplaceAll(string(e.Configuration), " ", ""); err == nil && got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if _, err := New(e.Configuration); e.Configuration != nil && err != nil {
				t.Error(err)
			}
		})
	}
}

// TestContract runs the suite of codecs on shards that are clipped, because its chunks
// have any shape.
func TestContract(t *testing.T) {
	codectest.Run(t, func() any { return new(shards) }, &codectest.Options{Unframed: true}) // bytes of no use are allowed
}

// shards is the codec for chunks of any rank.
type shards struct{ codec.ArrayBytes }

// Uncounted implements [codec.Uncounted]: inner chunks have one length, whatever the
// extent.
func (*shards) Uncounted() bool { return true }

// Bind makes the codec for arrays of spec.
func (s *shards) Bind(spec codec.Spec) error {
	c := codec.Sharding{Codecs: []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"big"}`)}, {Name: "crc32c"}}}
	for range spec.Rank {
		c.Inner = append(c.Inner, grid.Every(2))
	}
	e, err := codec.Shards(c)
	if err != nil {
		return err
	}
	made, err := New(e.Configuration)
	if err != nil {
		return err
	}
	s.ArrayBytes = made.(codec.ArrayBytes)
	if err := made.(codec.Nester).Nest(&codec.Environment{Unaligned: true}); err != nil {
		return err
	}
	return s.ArrayBytes.Bind(spec)
}

// Codecs as metadata has them.
const (
	jsonBytes  = `{"name":"bytes","configuration":{"endian":"little"}}`
	jsonBig    = `{"name":"bytes","configuration":{"endian":"big"}}`
	jsonCRC    = `{"name":"crc32c"}`
	jsonGzip   = `{"name":"gzip","configuration":{"level":1}}`
	jsonIndex  = jsonBytes + "," + jsonCRC
	jsonValues = jsonBytes // of inner chunks that are not compressed
)

// sharded returns the configuration of shards of inner chunks of a shape.
func sharded(shape []int64, codecs, index, location string) string {
	list := make([]string, len(shape))
	for i, n := range shape {
		list[i] = fmt.Sprint(n)
	}
	return fmt.Sprintf(`{"chunk_shape":[%s],"codecs":[%s],"index_codecs":[%s],"index_location":%q}`, joined(list), codecs, index, location)
}

func joined(list []string) string {
	all := ""
	for i, s := range list {
		if i > 0 {
			all += ","
		}
		all += s
	}
	return all
}

// nested returns a codec of shards, to be used within others.
func nested(configuration string) string {
	return `{"name":"sharding_indexed","configuration":` + configuration + `}`
}

// uint16s is what most tests store: numbers with the fill value 7.
func uint16s(rank int) codec.Spec {
	typ, err := dtype.Parse("uint16", nil)
	if err != nil {
		panic(err)
	}
	fill := make([]byte, 2)
	binary.NativeEndian.PutUint16(fill, 7)
	return codec.Spec{Type: typ, Fill: fill, Rank: rank}
}

// newCoder returns the codec of a configuration, bound to arrays of uint16.
func newCoder(t testing.TB, configuration string, rank int, env codec.Environment) *coder {
	t.Helper()
	made, err := New([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*coder)
	if err = c.Nest(&env); err == nil {
		err = c.Bind(uint16s(rank))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newChain returns the chain of nothing but shards.
func newChain(configuration string, rank int, env codec.Environment) (*coding.Chain, error) {
	return coding.NewChain(&env, []metadata.Extension{{Name: Name, Configuration: []byte(configuration)}}, uint16s(rank))
}

func newLayout(t testing.TB, c *coder, shape ...int64) *layout {
	t.Helper()
	l, err := c.layout(shape)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// values returns n numbers, none of which is the fill value.
func values(n int) []byte {
	b := make([]byte, 0, 2*n)
	for i := range n {
		b = binary.NativeEndian.AppendUint16(b, uint16(100+i))
	}
	return b
}

// edit returns the edit that stores values in a part of a shard.
func edit(shape, start, count []int64, data []byte) coding.Edit {
	return coding.Edit{
		Shape: shape, Part: strided.Part{Start: start, Step: slices.Repeat([]int64{1}, len(shape)), Count: count},
		Values: strided.Contiguous(data, count, 2),
	}
}
