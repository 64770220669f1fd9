// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// array creates an array with values.
func array[T dtype.Element](t testing.TB, s store.Store, path string, spec zarr.Spec, values []T) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, path).CreateArray(t.Context(), spec, nil)
	if err == nil && values != nil {
		err = zarr.Write(t.Context(), a, nil, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// dataset returns a store with a group g of arrays of many kinds, and an array beside it.
func dataset(t testing.TB) store.Store {
	t.Helper()
	s := memstore.New()
	for _, path := range []string{"", "g", "g/deep"} {
		if _, err := zarr.At(s, path).CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	packed := zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Int16, DimensionNames: []string{"time", "lat"}, Chunks: grid.Chunks(1, 2), Attributes: map[string]any{"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -1}}
	array(t, s, "g/t2m", packed, []int16{0, 2, -1, 4, 6, 8})
	array(t, s, "g/time", zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, DimensionNames: []string{"time"}, Attributes: map[string]any{"units": "days since 2024-01-01"}}, []int32{0, 31})
	array(t, s, "g/lat", zarr.Spec{Shape: []int64{3}, Type: dtype.Float64, DimensionNames: []string{"lat"}}, []float64{-10, 0, 10.5})
	array(t, s, "g/name", zarr.Spec{Shape: []int64{2}, Type: dtype.String}, []string{"a \"b\"", "ä,b"})
	array(t, s, "g/one", zarr.Spec{Shape: []int64{}, Type: dtype.Float32}, []float32{1.5})
	array(t, s, "g/none", zarr.Spec{Shape: []int64{0, 2}, Type: dtype.Int8}, []int8(nil))
	array(t, s, "g/flag", zarr.Spec{Shape: []int64{1, 2}, Type: dtype.Bool}, []bool{true, false})
	array(t, s, "g/long", zarr.Spec{Shape: []int64{1 << 20, 1 << 20}, Type: dtype.Uint8, DimensionNames: []string{"y", "x"}}, []uint8(nil))
	pair, err := dtype.StructOf(dtype.Field{Name: "a", Type: dtype.Int32}, dtype.Field{Name: "b", Type: dtype.Float32})
	if err != nil {
		t.Fatal(err)
	}
	array(t, s, "g/pair", zarr.Spec{Shape: []int64{2}, Type: pair}, []uint8(nil))
	lunar := map[string]any{"units": "days since 2024-02-28", "calendar": "360_day"}
	array(t, s, "g/lunar", zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Attributes: lunar}, []int32{0, 2})
	old := map[string]any{"units": "days since 0001-01-01"}
	array(t, s, "g/old", zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Attributes: old}, []int32{0, 800000})
	array(t, s, "secret", zarr.Spec{Shape: []int64{3}, Type: dtype.Float64, DimensionNames: []string{"secret"}}, []float64{1, 2, 3})
	array(t, s, "g/deep/x", zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, DimensionNames: []string{"secret"}}, []int8{1, 2, 3})
	return s
}

// valuesOf returns a handler for the group of a dataset, with the name n.
func valuesOf(t testing.TB) *serve.Handler {
	t.Helper()
	h, err := serve.New([]serve.Node{{Name: "n", Location: zarr.At(dataset(t), "g")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// path returns the address of values. Parameters are separated by spaces.
func path(array, parameters string) string {
	q := url.Values{}
	for _, p := range strings.Fields(parameters) {
		name, value, _ := strings.Cut(p, "=")
		q.Add(name, value)
	}
	return "/@values/n/" + array + "?" + q.Encode()
}

// TestBounds asks which elements were selected.
func TestBounds(t *testing.T) {
	h := valuesOf(t)
	for query, want := range map[string]string{
		"t2m": "0:2,0:3", "t2m select=lat=10.0": "0:2,2", "t2m select=time=-1,lat=::2": "1,0:3", "one": "", "none": "0:0,0:0",
	} {
		array, parameters, _ := strings.Cut(query, " ")
		for _, method := range []string{"GET", "HEAD"} {
			if is := request(t, h, method, path(array, parameters)); is.StatusCode != 200 || is.Header.Get("Varve-Bounds") != want {
				t.Errorf("%s %s: status %d, %q, want %q", method, query, is.StatusCode, is.Header.Get("Varve-Bounds"), want)
			}
		}
	}
	is := request(t, h, "GET", path("t2m", "select=lat=45"))
	if text := body(t, is); is.StatusCode != 400 || !strings.Contains(text, "lat=45.0 or lat=45..45") {
		t.Errorf("status %d: %s", is.StatusCode, text)
	}
}

// TestValues compares values in every format of text.
func TestValues(t *testing.T) {
	h := valuesOf(t)
	for _, c := range []struct{ array, parameters, want, shape, typ string }{
		{"t2m", "", "[[0,2,-1],[4,6,8]]\n", "2,3", "int16"},
		{"t2m", "select=time=-1", "[4,6,8]\n", "3", "int16"},
		{"t2m", "select=::-1,1:", "[[6,8],[2,-1]]\n", "2,2", "int16"},
		{"t2m", "select=time=2024-02,lat=0..20", "[[6,8]]\n", "1,2", "int16"},
		{"t2m", "select=lat=10.0,time=0 decode=1", "\"NaN\"\n", "", "float64"},
		{"t2m", "decode=true", "[[10.0,11.0,\"NaN\"],[12.0,13.0,14.0]]\n", "2,3", "float64"},
		{"t2m", `select={"orthogonal":{"lat":[2,0]}}`, "[[-1,0],[8,4]]\n", "2,2", "int16"},
		{"t2m", `select={"points":[[0,1],[1,2]]}`, "[2,8]\n", "2", "int16"},
		{"t2m", "format=csv", "0,2,-1\n4,6,8\n", "2,3", "int16"},
		{"t2m", "format=csv header=1 decode=1 select=:,1:", "time,0.0,10.5\n2024-01-01T00:00:00,11,nan\n2024-02-01T00:00:00,13,14\n", "2,2", "float64"},
		{"time", "decode=1", "[\"2024-01-01T00:00:00\",\"2024-02-01T00:00:00\"]\n", "2", "numpy.datetime64[s]"},
		{"lunar", "decode=1", "[\"2024-02-28\",\"2024-02-30\"]\n", "2", "string"},
		{"old", "decode=1", "[\"0001-01-01\",\"2191-04-28\"]\n", "2", "string"},
		{"name", "", "[\"a \\\"b\\\"\",\"ä,b\"]\n", "2", "string"},
		{"name", "format=csv", "\"a \"\"b\"\"\"\n\"ä,b\"\n", "2", "string"},
		{"one", "", "1.5\n", "", "float32"},
		{"none", "", "[]\n", "0,2", "int8"},
		{"none", "format=raw", "", "0,2", "int8"},
		{"pair", "format=csv", "a,b\n0,0\n0,0\n", "2", ""},
		{"pair", `select={"fields":["b"]}`, "[0.0,0.0]\n", "2", ""},
		{"deep/x", "select=secret=1:", "[2,3]\n", "2", "int8"},
		{"deep/x", "format=csv header=1", "secret,x\n0,1\n1,2\n2,3\n", "3", "int8"},
		{"one/", "format=raw", "\x00\x00\xc0\x3f", "", "float32"},
	} {
		is := request(t, h, "GET", path(c.array, c.parameters))
		got := body(t, is)
		if is.StatusCode != 200 || got != c.want {
			t.Errorf("%s %s: status %d, %q, want %q", c.array, c.parameters, is.StatusCode, got, c.want)
		}
		if is.Header.Get("Varve-Shape") != c.shape || c.typ != "" && is.Header.Get("Varve-Data-Type") != c.typ {
			t.Errorf("%s %s: shape %s, type %s", c.array, c.parameters, is.Header.Get("Varve-Shape"), is.Header.Get("Varve-Data-Type"))
		}
		head := request(t, h, "HEAD", path(c.array, c.parameters))
		for _, name := range []string{"Content-Type", "Varve-Shape"} {
			if head.StatusCode != 200 || head.Header.Get(name) != is.Header.Get(name) || body(t, head) != "" {
				t.Errorf("HEAD %s %s: status %d, %s %s, want %s", c.array, c.parameters, head.StatusCode, name, head.Header.Get(name), is.Header.Get(name))
			}
		}
	}
}

// TestValuesNPY parses a file of NumPy.
func TestValuesNPY(t *testing.T) {
	h := valuesOf(t)
	is := request(t, h, "GET", path("t2m", "format=npy select=:,::-1"))
	r := strings.NewReader(body(t, is))
	size := r.Len()
	header, err := npy.ReadHeader(r)
	if err != nil || header.Type != dtype.Int16 || !slices.Equal(header.Shape, []int64{2, 3}) || is.Header.Get("Content-Type") != "application/x-npy" {
		t.Fatalf("%+v of type %s: %v", header, is.Header.Get("Content-Type"), err)
	}
	data := make([]byte, r.Len())
	r.Read(data)
	if want := []byte{255, 255, 2, 0, 0, 0, 8, 0, 6, 0, 4, 0}; !bytes.Equal(header.Arrange(data), want) {
		t.Errorf("%v, want %v", data, want)
	}
	for _, method := range []string{"GET", "HEAD"} {
		if is := request(t, h, method, path("t2m", "format=npy")); is.Header.Get("Content-Length") != fmt.Sprint(size) {
			t.Errorf("%s: %s bytes, want %d", method, is.Header.Get("Content-Length"), size)
		}
	}
	// Whether these times are text is not known before they are read.
	if is := request(t, h, "HEAD", path("time", "format=raw decode=1")); is.Header.Get("Content-Length") != "" {
		t.Errorf("%s bytes of times", is.Header.Get("Content-Length"))
	}
}

// TestAccept negotiates the format.
func TestAccept(t *testing.T) {
	h := valuesOf(t)
	for accept, want := range map[string]string{
		"":    "application/json",
		"*/*": "application/json",
		"text/html,application/xhtml+xml,*/*;q=0.8": "application/json",
		"text/csv":                            "text/csv",
		"text/*":                              "text/csv",
		"application/octet-stream":            "application/octet-stream",
		"application/x-npy, application/json": "application/json",
		"application/x-npy, application/json;q=.9": "application/x-npy",
		"image/avif,image/webp,image/*":            "image/png",
		"*/*;q=0.1, image/png;q=0.2":               "image/png",
		"application/json;q=0, */*":                "text/csv",
		"application/*":                            "application/json",
		"text/html":                                "",
		"*/*;q=0":                                  "",
		"image/png;q=2":                            "",
		"%":                                        "",
	} {
		is := request(t, h, "HEAD", path("t2m", ""), "Accept", accept)
		if got := is.Header.Get("Content-Type"); got != want && !(want == "" && is.StatusCode == http.StatusNotAcceptable) {
			t.Errorf("%s: status %d, %s, want %s", accept, is.StatusCode, got, want)
		}
		if !strings.Contains(strings.Join(is.Header.Values("Vary"), ","), "Accept") {
			t.Errorf("%s: Vary is %v", accept, is.Header.Values("Vary"))
		}
	}
	if is := request(t, h, "HEAD", path("t2m", "format=csv"), "Accept", "image/png"); is.Header.Get("Content-Type") != "text/csv" {
		t.Errorf("format= is overruled: %s", is.Header.Get("Content-Type"))
	}
}

// TestValuesRefused sends requests that cannot be answered.
func TestValuesRefused(t *testing.T) {
	h := valuesOf(t)
	for _, c := range []struct {
		array, parameters string
		status            int
		says              string
	}{
		{"t2m", "select=time=99", 400, "index 99"},
		{"t2m", "select=tmie=0", 400, "no dimension is named"},
		{"t2m", "select=[0]", 400, "without brackets"},
		{"t2m", `select={"mask":"/etc/passwd"}`, 400, "masks cannot be read here"},
		{"t2m", "select=lat=99.5", 400, "coordinate n/lat"},
		{"t2m", "slect=0", 400, `no parameter "slect"`},
		{"t2m", "select=0 select=1", 400, "twice"},
		{"t2m", "format=xml", 400, "format=xml is unknown"},
		{"t2m", "decode=yes", 400, "decode=1 or decode=0"},
		{"t2m", "header=1", 400, "format=csv"},
		{"t2m", "cmap=grey", 400, "format=png"},
		{"t2m", "format=png cmap=jet", 400, "viridis"},
		{"t2m", "format=png range=3,1", 400, "range=250,310"},
		{"t2m", "format=png range=NaN,1", 400, "range=250,310"},
		{"t2m", "format=png select=0", 400, "two axes"},
		{"none", "format=png", 400, "two axes"},
		{"name", "format=png", 406, "real numbers"},
		{"pair", "format=png", 406, "real numbers"},
		{"name", "format=npy", 406, "format=json"},
		{"name", "format=raw", 406, "format=json"},
		{"lunar", "format=npy decode=1", 406, "omit decode=1"},
		{"old", "format=npy decode=1", 406, "omit decode=1"},
		{"long", "", 413, "select=y=0:256,x=0:1048576"},
		{"long", "select=:,0:4097 format=png", 413, ""},
		{"long", "select=0:4097,0:10 format=png", 413, "select=y=0:4097:2,x=0:10:1"},
		{"long", "select=0:3 format=csv header=1", 413, "header=1"},
		{"deep/x", "select=secret=2.0", 400, "not served"},
		{"", "", 400, "one of its arrays, such as flag, lat, long"},
		{"deep", "", 400, "such as x"},
		{"other", "", 404, "no array here"},
		{"__varve", "", 404, "no such key"},
		{"../secret", "", 0, ""},
		{"a\x00", "", 0, ""},
	} {
		is := request(t, h, "GET", "/@values/n/"+url.PathEscape(c.array)+strings.TrimPrefix(path("", c.parameters), "/@values/n/"))
		if strings.Contains(c.array, "/") {
			is = request(t, h, "GET", path(c.array, c.parameters))
		}
		var p struct {
			Status int
			Detail string
		}
		text := body(t, is)
		if err := json.Unmarshal([]byte(text), &p); err != nil || is.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %q is no problem: %v", c.array, c.parameters, text, err)
		}
		if c.status == 0 && (is.StatusCode < 400 || is.StatusCode >= 500) || c.status > 0 && (is.StatusCode != c.status || p.Status != c.status) || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s: status %d, %s; want %d, %s", c.array, c.parameters, is.StatusCode, p.Detail, c.status, c.says)
		}
	}
	if is := request(t, h, "GET", "/@values/n/t2m?select=%zz"); is.StatusCode != 400 {
		t.Errorf("a malformed query: status %d", is.StatusCode)
	}
	for _, none := range []string{"/@values", "/@values/", "/@values/x"} {
		if is := request(t, h, "GET", none); is.StatusCode != 404 {
			t.Errorf("%s: status %d", none, is.StatusCode)
		}
	}
}

// TestSmaller asks for what is proposed in place of too much.
func TestSmaller(t *testing.T) {
	h := valuesOf(t)
	for _, parameters := range []string{"", "select=5:,3:", "select=::7,::3", "select=:,0:4097 format=png", "select=0:9000,0:5000 format=png"} {
		is := request(t, h, "GET", path("long", parameters))
		var p struct {
			Limit  int64
			Select string
		}
		if err := json.Unmarshal([]byte(body(t, is)), &p); err != nil {
			t.Fatal(err)
		}
		format := "raw"
		if strings.Contains(parameters, "png") {
			format = "png"
		}
		again := request(t, h, "HEAD", path("long", "format="+format+" select="+p.Select))
		if is.StatusCode != 413 || p.Limit == 0 || again.StatusCode != 200 && !(format == "png" && again.StatusCode == 413) {
			t.Errorf("%s: status %d, proposes %s: status %d", parameters, is.StatusCode, p.Select, again.StatusCode)
		}
	}
}

// pictureOf returns a picture.
func pictureOf(t *testing.T, h http.Handler, parameters string, want ...[4]uint8) (image.Image, http.Header) {
	t.Helper()
	is := request(t, h, "GET", parameters)
	got, err := png.Decode(is.Body)
	if err != nil {
		t.Fatal(is.StatusCode, err)
	}
	b := got.Bounds()
	if b.Dx()*b.Dy() != len(want) {
		t.Fatalf("%v, want %d pixels", b, len(want))
	}
	for i, w := range want {
		r, g, b, a := got.At(i%b.Dx(), i/b.Dx()).RGBA()
		if is := [4]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}; is != w {
			t.Errorf("%s: pixel %d is %v, want %v", parameters, i, is, w)
		}
	}
	return got, is.Header
}

// TestPicture compares pixels.
func TestPicture(t *testing.T) {
	h := valuesOf(t)
	none, black, white := [4]uint8{}, [4]uint8{0, 0, 0, 255}, [4]uint8{255, 255, 255, 255}
	grey := func(x uint8) [4]uint8 { return [4]uint8{x, x, x, 255} }
	_, header := pictureOf(t, h, path("t2m", "format=png cmap=grey"), black, grey(64), none, grey(128), grey(192), white)
	if header.Get("Varve-Range") != "0,8" || header.Get("Varve-Shape") != "2,3" {
		t.Errorf("%v", header)
	}
	if _, header = pictureOf(t, h, path("t2m", "format=png cmap=grey decode=1"), black, grey(64), none, grey(128), grey(192), white); header.Get("Varve-Range") != "10,14" {
		t.Errorf("%v", header)
	}
	pictureOf(t, h, path("t2m", "format=png cmap=grey_r range=2,4"), white, white, none, black, black, black)
	violet, yellow := [4]uint8{0x44, 0x01, 0x54, 255}, [4]uint8{0xfd, 0xe7, 0x25, 255}
	pictureOf(t, h, path("t2m", "format=png select=:,0:1"), violet, yellow)
	pictureOf(t, h, path("flag", "format=png"), yellow, violet)
	red, blue := [4]uint8{0x67, 0, 0x1f, 255}, [4]uint8{0x05, 0x30, 0x61, 255}
	pictureOf(t, h, path("t2m", "format=png cmap=RdBu select=::-1,0:1"), blue, red)
	pictureOf(t, h, path("t2m", "format=png select=0:1,2:3"), none)
	pictureOf(t, h, path("t2m", "format=png select=0:1,1:2"), violet)
}

// chunkReads is a store that counts reads of chunks, and may not tell versions.
type chunkReads struct {
	store.Store
	blind bool
	count atomic.Int64
}

func (s *chunkReads) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if strings.Contains(key.String(), "/c/") {
		s.count.Add(1)
	}
	data, info, err := s.Store.Get(ctx, key, q, dst)
	if info.Modified = time.Unix(1, 0); s.blind {
		info.Version = store.Version{}
	}
	return data, info, err
}

// Stat implements [store.Stater].
func (s *chunkReads) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := store.Stat(ctx, s.Store, key)
	if info.Modified = time.Unix(1, 0); s.blind {
		info.Version = store.Version{}
	}
	return info, err
}

// TestTiles compares pictures of elements of chunks that stay in memory with those of
// elements that are read for each, before and after a write.
func TestTiles(t *testing.T) {
	s := memstore.New()
	number := make([]int32, 64*96)
	for i := range number {
		number[i] = int32(i*i) % 1000
	}
	spec := zarr.Spec{Shape: []int64{64, 96}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(10, 30, 24), grid.Every(32)},
		Codecs: []metadata.Extension{codec.Bytes("little"), codec.Zstd(1)}, Attributes: map[string]any{"_FillValue": 7, "scale_factor": 0.5, "add_offset": -3.0}}
	a := array(t, s, "n", spec, number)
	kept, blind := &chunkReads{Store: s}, &chunkReads{Store: s, blind: true}
	tiles, plain := handler(t, zarr.At(kept, "n"), nil), handler(t, zarr.At(blind, "n"), nil)
	random := rand.New(rand.NewPCG(1, 2))
	side := func(n int64) string {
		from := random.Int64N(n)
		to := from + 1 + random.Int64N(n-from)
		switch random.IntN(4) {
		case 0:
			return fmt.Sprintf("%d:%d:%d", from, to, 1+random.Int64N(4))
		case 1:
			return "::-1"
		}
		return fmt.Sprintf("%d:%d", from, to)
	}
	compare := func() {
		for range 60 {
			ask := "/@values/n?format=png&select=" + side(64) + "," + side(96)
			if random.IntN(2) == 0 {
				ask += "&decode=1"
			}
			if random.IntN(2) == 0 {
				ask += "&range=10,400"
			}
			got, want := request(t, tiles, "GET", ask), request(t, plain, "GET", ask)
			if got.StatusCode != 200 || body(t, got) != body(t, want) || got.Header.Get("Varve-Range") != want.Header.Get("Varve-Range") {
				t.Fatalf("%s: status %d, the pictures differ", ask, got.StatusCode)
			}
		}
	}
	compare()
	if kept.count.Load()*4 > blind.count.Load() {
		t.Errorf("chunks were read %d times, and %d times without versions", kept.count.Load(), blind.count.Load())
	}
	for i := range number {
		number[i] = 999 - number[i]
	}
	if err := zarr.Write(t.Context(), a, nil, number); err != nil {
		t.Fatal(err)
	}
	compare()
}

// TestValuesLinks does not follow a link out of the node, to an array or to a coordinate.
func TestValuesLinks(t *testing.T) {
	dir, g := folder(t)
	for link, to := range map[string]string{"out": "../other", "x": "../x", "in": "a"} {
		if err := os.Symlink(to, filepath.Join(dir, "g", link)); err != nil {
			t.Skip(err)
		}
	}
	array(t, g.Store(), "x", zarr.Spec{Shape: []int64{4}, Type: dtype.Float64, DimensionNames: []string{"x"}}, []float64{1, 2, 3, 4})
	h := handler(t, g, nil)
	for array, want := range map[string]int{"out": 403, "x": 403, "in": 200, "a": 200} {
		if is := request(t, h, "GET", path(array, "")); is.StatusCode != want {
			t.Errorf("%s: status %d, want %d", array, is.StatusCode, want)
		}
	}
	is := request(t, h, "GET", path("a", "select=x=2.0"))
	if is.StatusCode != 403 {
		t.Errorf("a coordinate behind a link: status %d, %s", is.StatusCode, body(t, is))
	}
}

// TestValuesGrow sees an append, and an array in the place of another, at once.
func TestValuesGrow(t *testing.T) {
	s, a := rows(t, 3)
	h := handler(t, zarr.At(s, "n"), nil)
	if got := body(t, request(t, h, "GET", "/@values/n?select=-1")); got != "2\n" {
		t.Error(got)
	}
	if err := zarr.Append(t.Context(), a, 0, []int32{7}, nil); err != nil {
		t.Fatal(err)
	}
	if got := body(t, request(t, h, "GET", "/@values/n?select=-1")); got != "7\n" {
		t.Error(got)
	}
	if _, err := zarr.At(s, "n").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: dtype.Float32}, &zarr.CreateOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := body(t, request(t, h, "GET", "/@values/n")); got != "[0.0,0.0]\n" {
		t.Error(got)
	}
}

// failing is a store whose values cannot be read, but for documents.
type failing struct {
	store.Store
	after *atomic.Int64 // reads of chunks that succeed
}

func (f failing) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if key.Base() != "zarr.json" {
		if f.after.Add(-1) < 0 {
			return nil, store.Info{}, errors.New("/srv/private failed")
		}
	}
	return f.Store.Get(ctx, key, q, dst)
}

// TestValuesFail checks that no error of a store is told, and that an answer that is cut
// short does not look whole.
func TestValuesFail(t *testing.T) {
	s := memstore.New()
	const n = 64 << 20
	a := array(t, s, "n", zarr.Spec{Shape: []int64{n}, Type: dtype.Uint8, Chunks: grid.Chunks(n / 16)}, []uint8(nil))
	for i := range int64(16) {
		if err := a.WriteChunk(t.Context(), []int64{i}, bytes.Repeat([]byte{1}, n/16)); err != nil {
			t.Fatal(err)
		}
	}
	after, log := new(atomic.Int64), new(strings.Builder)
	at := zarr.At(failing{s, after}, "n")
	is := request(t, handler(t, at, &serve.Options{Log: slog.New(slog.NewTextHandler(log, nil))}), "GET", "/@values/n?format=raw")
	if text := body(t, is); is.StatusCode != 500 || strings.Contains(text, "private") || !strings.Contains(log.String(), "private") {
		t.Errorf("status %d, %s; the log has %s", is.StatusCode, text, log)
	}
	server := httptest.NewServer(handler(t, at, nil))
	defer server.Close()
	for _, format := range []string{"raw", "json"} {
		after.Store(8)
		ask, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/@values/n?format="+format, nil)
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Accept-Encoding", "identity") // what is compressed has an end of its own
		is, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := got.ReadFrom(is.Body); err == nil || is.StatusCode != 200 {
			t.Errorf("%s: status %d, %d bytes, %v", format, is.StatusCode, got.Len(), err)
		}
		is.Body.Close()
	}
}

// TestValuesDamaged has a first chunk that cannot be decoded. Nothing was sent before it.
func TestValuesDamaged(t *testing.T) {
	s := memstore.New()
	spec := zarr.Spec{Shape: []int64{2, 4}, Type: dtype.Int32, Chunks: grid.Chunks(2, 4), DimensionNames: []string{"y", "x"}}
	array(t, s, "n", spec, []int32{1, 2, 3, 4, 5, 6, 7, 8})
	put(t, s, "n/c/0/0", []byte("damaged"))
	h := handler(t, zarr.At(s, "n"), nil)
	for _, q := range []string{"json", "raw", "npy", "csv", "csv&header=1", "png", "png&range=0,1"} {
		is := request(t, h, "GET", "/@values/n?format="+q)
		if text := body(t, is); is.StatusCode != 500 || !strings.Contains(text, `"kind":"corrupt"`) {
			t.Errorf("%s: status %d, %s", q, is.StatusCode, text)
		}
	}
}

// FuzzValues asks with any path and query.
func FuzzValues(f *testing.F) {
	for _, q := range []string{"", "select=time=-1&format=npy", "select=lat=0..10&decode=1", "format=png&cmap=RdBu_r&range=1,2", "format=csv&header=1", `select={"points":[[0],[1]]}`, "select=%zz", "select=time=2024-01", "a;b", `select={"blocks":["0","0"]}`} {
		for _, array := range []string{"t2m", "long", "name", ""} {
			f.Add(array, q, "")
		}
	}
	f.Add("t2m", "", "image/png;q=0.5, text/*")
	h := valuesOf(f)
	f.Fuzz(func(t *testing.T, array, query, accept string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/", nil)
		r.URL.Path, r.URL.RawQuery = "/@values/n/"+array, query
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		if strings.HasPrefix(array, "long") {
			r.Method = "HEAD" // it has 1 TiB
		}
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q %q: status %d, %s", array, query, w.Code, w.Body)
		}
	})
}
