// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr/internal/house"
)

const module = "varve.dev/zarr"

// layers lists the packages of the core module, lowest layer first.
var layers = [][]string{
	{"internal/own", "internal/quantity", "internal/remedy", "internal/mistake"},
	{
		"internal/checked", "internal/nodename", "internal/sentinel", "internal/strictjson", "internal/budget", "internal/vfs", "internal/house",
		"internal/shuffle", "internal/byteorder", "internal/extremes", "internal/clock", "internal/racing",
		"internal/gdal", "internal/lease", "internal/nontemporal", "internal/pages", "internal/parallel", "internal/residue",
		"internal/nonfinite", "internal/hdf5",
	},
	{"cf/calendar", "dtype", "grid", "store"},
	{"internal/packed", "internal/diskstore"},
	{"internal/strided", "internal/blocks", "internal/driver", "internal/directory", "internal/archive", "internal/leftover"},
	{"internal/subset", "internal/inflight", "store/retry"},
	{
		"selection", "metadata", "internal/missing", "store/filestore", "store/memstore", "internal/rehearsal", "store/fsstore", "store/storetest", "internal/draw", "internal/npy",
		"internal/number", "store/httpstore", "store/zipstore", "observe",
	},
	{"codec", "store/observed", "store/cached", "internal/placement", "internal/attributes", "internal/masking", "internal/zarrjson", "virtual/scan"},
	{"internal/coding", "internal/fault"},
	{
		"internal/codecs/bytescodec", "internal/codecs/transpose", "internal/codecs/gzipcodec", "internal/codecs/zstd", "internal/codecs/crc32c", "internal/codecs/sharding",
		"codec/codectest", "internal/codecs/vlen", "internal/codecs/blosc", "internal/codecs/packbits", "internal/codecs/bitround", "internal/codecs/reshape",
		"internal/codecs/castvalue", "internal/codecs/scaleoffset", "internal/codecs/conditional", "internal/codecs/n5", "internal/codecs/grib2",
		"internal/engine", "internal/publish", "internal/element", "internal/likeness", "internal/reduction",
	},
	{"internal/codecs/numcodecs", "internal/nodelock", "internal/tree", "internal/lineage"},
	{"internal/codecs/imagecodecs"},
	{"virtual/internal/fits", "virtual/internal/grib", "virtual/internal/hdf5", "virtual/internal/joint", "internal/kerchunk", "virtual/internal/netcdf3", "virtual/internal/numpy", "virtual/internal/tiff"},
	{"internal/scheme", "internal/snapshot"},
	{"internal/comparison"},
	{"internal/dimension", "internal/ome", "internal/streaming", "internal/staging"},
	{"internal/array"},
	{"."},
	{"internal/failure", "internal/sharing"},
	{"internal/copying", "internal/cf", "internal/rowset", "rechunk", "internal/consolidation"},
	{"cf", "transfer", "check/diff", "internal/export", "internal/stac", "internal/statistics", "internal/conventions"},
	{"convert", "internal/export/geotiff", "internal/export/netcdf"},
	{"virtual", "ragged", "pyramid", "statistics", "check", "check/checksums", "serve/internal/plain"},
	{"filter", "internal/job", "serve/internal/reply"},
	{"serve", "serve/page"},
	{"internal/layers"},
}

// layerOf returns the layer of a package by its folder, or -1.
func layerOf(folder string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, folder) })
}

// imports is one import of a package of the core.
type imports struct {
	file   *house.File
	folder string // of the importing package
	path   string
}

// all returns every import of the core module, on every system.
func all(t *testing.T) []imports {
	t.Helper()
	files, err := house.Read(house.Root)
	if err != nil {
		t.Fatal(err)
	}
	var list []imports
	for _, f := range files {
		for _, s := range f.Syntax.Imports {
			p, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, imports{f, f.Folder(), p})
		}
	}
	return list
}

// TestArrowsPointDown checks that packages import lower layers only.
func TestArrowsPointDown(t *testing.T) {
	for _, i := range all(t) {
		target, ours := inModule(i.path)
		if !ours || i.file.IsTest() {
			continue
		}
		from, to := layerOf(i.folder), layerOf(target)
		if from >= 0 && to >= from {
			t.Errorf("%s imports %s: layer %d may not use layer %d", i.file.Path, i.path, from, to)
		}
	}
}

// inModule returns the folder of a package of the core module.
func inModule(path string) (folder string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// TestEveryPackageHasALayer checks that the table is complete and has no stale entries.
func TestEveryPackageHasALayer(t *testing.T) {
	files, err := house.Read(house.Root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		if strings.HasPrefix(f.Folder(), "internal/test/") {
			continue // tests stand above all layers
		}
		if found[f.Folder()] = true; layerOf(f.Folder()) < 0 {
			t.Errorf("%s: package %s has no layer; give it the lowest that its imports permit", f.Path, f.Folder())
		}
	}
	for _, folder := range slices.Concat(layers...) {
		if !found[folder] {
			t.Errorf("%s is in the table of layers but not there", folder)
		}
	}
}

// TestNoTestingInside checks that only tests and test packages import testing or test
// packages, and that nothing needs a C compiler.
func TestNoTestingInside(t *testing.T) {
	suites := []string{"store/storetest", "codec/codectest", "internal/racing"}
	for _, i := range all(t) {
		if i.path == "C" {
			t.Errorf("%s uses cgo", i.file.Path)
		}
		if i.file.IsTest() || slices.Contains(suites, i.folder) {
			continue
		}
		target, _ := inModule(i.path)
		if i.path == "testing" || slices.Contains(suites, target) {
			t.Errorf("%s imports %s, which is for tests", i.file.Path, i.path)
		}
	}
}

// TestOneWayToFail checks that only internal/parallel starts goroutines that cancel each
// other. It keeps the first failure and drops the errors of cancelled goroutines.
func TestOneWayToFail(t *testing.T) {
	for _, i := range all(t) {
		if i.path == "golang.org/x/sync/errgroup" && i.folder != "internal/parallel" && !i.file.IsTest() {
			t.Errorf("%s imports %s: use internal/parallel", i.file.Path, i.path)
		}
	}
}

// TestFewDependencies checks that a program with the core links at most four other
// modules.
func TestFewDependencies(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	c.Dir, c.Env = house.Root, append(os.Environ(), "GOWORK=off")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m == module })
	t.Logf("the core links %v", modules)
	if len(modules) > 4 {
		t.Errorf("the core links %d modules: %v", len(modules), modules)
	}
}

// apart are the modules that go.work leaves out: it would give all others the versions of
// their many dependencies.
var apart = []string{"./job/beam"}

// TestNestedModules checks that a fresh clone works: each module is in go.work, unless it
// is kept apart, and also finds the core without it.
func TestNestedModules(t *testing.T) {
	modules, err := house.Modules(house.Root)
	if err != nil {
		t.Fatal(err)
	}
	work := read(t, house.Root, "go.work")
	for _, dir := range modules[1:] {
		rel, err := filepath.Rel(house.Root, dir)
		if err != nil {
			t.Fatal(err)
		}
		name := "./" + filepath.ToSlash(rel)
		if slices.Contains(strings.Fields(work), name) == slices.Contains(apart, name) {
			t.Errorf("go.work and the modules that it leaves out: %s", name)
		}
		mod := read(t, dir, "go.mod")
		replace := regexp.MustCompile(`(?m)^replace ` + regexp.QuoteMeta(module) + ` => \.\.(/|$)`)
		if strings.Contains(mod, module+" v") && !replace.MatchString(mod) {
			t.Errorf("%s/go.mod does not replace %s with its folder", name, module)
		}
	}
}

// libraries are the modules that a program may take at another version than the core.
// The value is the one internal package that each may import. Its API only grows.
var libraries = map[string]string{
	"codec/extra": "internal/codecs/numcodecs", "columnar": "", "observe/otel": "", "virtual/parquet": "internal/kerchunk",
	"icechunk":    "internal/driver",
	"store/azure": "internal/driver", "store/gcs": "internal/driver", "store/s3": "internal/driver",
}

// TestInternalIsInternal checks that libraries of other modules import at most one
// internal package of the core. Programs may import all: they are released with the core.
func TestInternalIsInternal(t *testing.T) {
	n := 0
	for dir, own := range libraries {
		files, err := house.Read(filepath.Join(house.Root, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, s := range f.Syntax.Imports {
				n++
				path := strings.Trim(s.Path.Value, `"`)
				if strings.HasPrefix(path, module+"/internal/") && path != module+"/"+own && !f.IsTest() {
					t.Errorf("%s imports %s", f.Path, path)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("%d imports are found", n)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
