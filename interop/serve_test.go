// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"archive/zip"
	"bufio"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/fsstore"
	_ "varve.dev/zarr/virtual"
)

//go:embed serve.py
var serveProgram string

// client reads over HTTP in a process of its own.
type client struct {
	in  *json.Encoder
	out *bufio.Reader
}

// found is what a client reads: elements of one width, or texts.
type found struct {
	Shape     []int64
	Data      string
	Texts     []string
	Variables []string
	Error     string
}

// startClient starts a client of serve.py.
func startClient(t *testing.T, python, name string) *client {
	t.Helper()
	command := exec.Command(python, "-u", "-c", serveProgram, name)
	command.Stderr = io.Discard // the libraries warn of extensions
	in, err := command.StdinPipe()
	check(t, err)
	out, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() { stop(t, in, command) })
	return &client{json.NewEncoder(in), bufio.NewReaderSize(out, 1<<20)}
}

func (c *client) ask(t *testing.T, request map[string]any) (f found) {
	t.Helper()
	check(t, c.in.Encode(request))
	line, err := c.out.ReadBytes('\n')
	check(t, err)
	check(t, json.Unmarshal(line, &f))
	return f
}

// shown is an array of the archive of data of zarr-python.
type shown struct {
	path  string // of the array on the server
	array *zarr.Array
}

// serveFixtures serves all nodes of the archive, and returns their arrays.
func serveFixtures(t *testing.T) (url string, arrays []shown) {
	t.Helper()
	z, err := zip.OpenReader("../testdata/stores.zip")
	check(t, err)
	t.Cleanup(func() { check(t, z.Close()) })
	entries, err := fs.ReadDir(z, ".")
	check(t, err)
	var nodes []serve.Node
	for _, e := range entries {
		if !e.IsDir() || strings.Contains(e.Name(), "lzma") {
			continue
		}
		sub, err := fs.Sub(z, e.Name())
		check(t, err)
		name := strings.TrimSuffix(e.Name(), ".zarr")
		at := zarr.At(fsstore.New(sub), "")
		nodes = append(nodes, serve.Node{Name: name, Location: at})
		node, err := at.Open(t.Context(), nil)
		check(t, err)
		if a, ok := node.(*zarr.Array); ok {
			arrays = append(arrays, shown{name, a})
			continue
		}
		for m, err := range node.(*zarr.Group).Members(t.Context(), true) {
			check(t, err)
			if a, ok := m.Node.(*zarr.Array); ok {
				arrays = append(arrays, shown{name + "/" + m.Path, a})
			}
		}
	}
	h, err := serve.New(nodes, nil)
	check(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL, arrays
}

// clients are the programs that read views, by the interpreter that has them.
func clients(t *testing.T) map[string]string {
	list := map[string]string{"fsspec": interpreter(t), "obstore": interpreter(t), "tensorstore": interpreter(t)}
	for name, peer := range map[string]string{"fsspec, zarr-python 3.1": "zarr-3.1", "gdal": "gdal"} {
		if python := filepath.Join(cache(), "peers", peer, "bin", "python"); exists(python) {
			list[name] = python
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestServe lets other programs read every array of the archive, with all grids, shards,
// codecs and data types, through views: they read the same elements, or refuse a type.
func TestServe(t *testing.T) {
	url, arrays := serveFixtures(t)
	for name, python := range clients(t) {
		program, _, _ := strings.Cut(name, ",")
		c := startClient(t, python, program)
		for _, view := range []string{"regular", "v2"} {
			t.Run(name+"/"+view, func(t *testing.T) {
				equal, refused := 0, map[string]int{}
				for _, a := range arrays {
					format := 3
					if view == "v2" {
						format = 2
					}
					at := url + "/@" + view + "/" + a.path
					b, err := zarr.OpenArray(t.Context(), at, nil)
					check(t, err)
					f := c.ask(t, map[string]any{"url": at, "format": format})
					if f.Error != "" {
						refused[b.Type().Name()]++
						if !refuses(name, view, b) {
							t.Errorf("%s: %.300s", a.path, f.Error)
						}
						continue
					}
					if is, want := f.Data+strings.Join(f.Texts, " "), encoded(t, b); is != want {
						t.Errorf("%s: elements are %.100s, want %.100s", a.path, is, want)
					}
					equal++
					check(t, b.Close())
				}
				t.Logf("%d arrays are equal, refused are %v", equal, refused)
			})
		}
	}
}

// refuses reports whether a client cannot read an array, of a data type that it does not
// know or of a length that it does not accept.
func refuses(client, view string, a *zarr.Array) bool {
	typ := a.Type().Name()
	among := func(names ...string) bool { return slices.Contains(names, typ) }
	switch client {
	case "fsspec, zarr-python 3.1":
		return typ == "struct" && view == "regular"
	case "tensorstore":
		return among("string", "bytes", "fixed_length_utf32", "null_terminated_bytes", "raw_bytes", "struct", "numpy.timedelta64")
	case "gdal":
		// It parses no fill value of a complex type in format 2, and no -Infinity of
		// float16. Its Python module has no texts.
		text := among("string", "bytes", "fixed_length_utf32", "null_terminated_bytes", "raw_bytes", "numpy.timedelta64")
		return text || slices.Contains(a.Shape(), 0) || typ == "struct" || view == "v2" && among("complex64", "complex128", "float16")
	}
	return false
}

// encoded returns the elements of an array as serve.py does.
func encoded(t *testing.T, a *zarr.Array) string {
	t.Helper()
	if a.Type().Variable() {
		b, err := zarr.Read[[]byte](t.Context(), a, nil)
		check(t, err)
		texts := make([]string, len(b.Data))
		for i, e := range b.Data {
			texts[i] = hex.EncodeToString(e)
		}
		return strings.Join(texts, " ")
	}
	n := int64(a.Type().Size())
	for _, l := range a.Shape() {
		n *= l
	}
	data := make([]byte, n)
	check(t, a.ReadBytes(t.Context(), nil, data))
	return hex.EncodeToString(data)
}

// TestServeZarrita lets zarrita read the views whose data types it knows.
func TestServeZarrita(t *testing.T) {
	n := startNode(t)
	url, arrays := serveFixtures(t)
	for _, view := range []string{"regular", "v2"} {
		equal, left := 0, map[string]int{}
		for _, a := range arrays {
			at := url + "/@" + view + "/" + a.path
			b, err := zarr.OpenArray(t.Context(), at, nil)
			check(t, err)
			if !slices.Contains([]string{"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}, b.Type().Name()) || slices.Contains(b.Shape(), 0) {
				left[b.Type().Name()]++
				continue
			}
			var data string
			check(t, json.Unmarshal(n.read(t, at, nil).Data, &data))
			if want := encoded(t, b); data != want {
				t.Errorf("%s: elements are %.100s, want %.100s", at, data, want)
			}
			equal++
			check(t, b.Close())
		}
		t.Logf("%s: %d arrays are equal, not asked for are %v", view, equal, left)
	}
}

// serveFolder serves nodes and files of a folder, and returns the address of the server.
func serveFolder(t *testing.T, dir string, names []string) (url string) {
	t.Helper()
	var nodes []serve.Node
	for _, name := range names {
		at, err := zarr.Locate(t.Context(), filepath.Join(dir, name), store.ReadOnly)
		check(t, err)
		t.Cleanup(func() { check(t, store.Close(at.Store())) })
		nodes = append(nodes, serve.Node{Name: name, Location: at})
	}
	h, err := serve.New(nodes, nil)
	check(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// TestServeXarray opens data sets that xarray has written, one of them with months as
// chunks and one a NetCDF file, through views and without any option.
func TestServeXarray(t *testing.T) {
	python, dir := interpreter(t), t.TempDir()
	maker := exec.Command(python, "-W", "ignore", "serve_dataset.py", dir)
	out, err := maker.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx := t.Context()
	check(t, os.CopyFS(filepath.Join(dir, "months.zarr"), os.DirFS(filepath.Join(dir, "v3.zarr"))))
	for _, name := range []string{"t2m", "n", "time"} {
		a, err := zarr.OpenArray(ctx, filepath.Join(dir, "months.zarr", name), &zarr.Options{Write: true})
		check(t, err)
		cuts := rechunk.Cuts{grid.Edges(31, 29, 30)}
		for _, length := range a.Shape()[1:] {
			cuts = append(cuts, grid.Every(length))
		}
		_, err = rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: cuts}, nil)
		check(t, err)
		check(t, a.Close())
	}
	local := map[string]string{"v3.zarr": "v3.zarr", "v2.zarr": "v2.zarr", "months.zarr": "v3.zarr", "file.nc": "file.nc"}
	url := serveFolder(t, dir, slices.Collect(maps.Keys(local)))
	c := startClient(t, python, "xarray")
	for _, name := range slices.Sorted(maps.Keys(local)) {
		for _, view := range []string{"@regular", "@v2", "@regular,chunks=10x7x7,codec=gzip"} {
			f := c.ask(t, map[string]any{"url": fmt.Sprintf("%s/%s/%s", url, view, name), "path": filepath.Join(dir, local[name])})
			if f.Error != "" || len(f.Variables) != 7 {
				t.Errorf("%s of %s: %v %s", view, name, f.Variables, f.Error)
			}
		}
	}
}

// TestServeCoarsened compares coarsened views with what xarray makes of the whole arrays.
func TestServeCoarsened(t *testing.T) {
	python, dir := interpreter(t), t.TempDir()
	out, err := exec.Command(python, "-W", "ignore", "serve_dataset.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names := []string{"floats.zarr", "v3.zarr", "v2.zarr", "file.nc"}
	url := serveFolder(t, dir, names)
	c := startClient(t, python, "coarsen")
	for _, name := range names {
		for _, view := range []string{"@regular", "@v2", "@regular,chunks=2x3x3"} {
			f := c.ask(t, map[string]any{"url": url + "/@regular/" + name, "coarse": fmt.Sprintf("%s/%s,coarsen=time:9+lat:3+lon:7/%s", url, view, name)})
			if f.Error != "" || len(f.Variables) != 6 {
				t.Errorf("%s of %s: %v %s", view, name, f.Variables, f.Error)
			}
		}
	}
}
