// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostChanged is the number of arrays that each command changes.
const mostChanged = 3

// TestForeignChanges runs commands that change arrays on hierarchies with any names that
// a file can have. Each changes what it names, and nothing else that the system lists.
func TestForeignChanges(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 37))
			dir := t.TempDir()
			f := &foreignChanges{t, dir, dir + "/src.zarr"}
			arrays := foreignTree(t, r, f.src)
			was := filesOf(t, f.src)
			f.checksums(was)
			for _, name := range arrays[:min(mostChanged, len(arrays))] {
				f.changes(name)
			}
			f.plans(arrays)
			// What no command has named is as it was.
			changed := arrays[:min(mostChanged, len(arrays))]
			others := func(name, _ string) bool {
				for _, a := range changed {
					if strings.HasPrefix(name, a+"/") {
						return false
					}
				}
				return true
			}
			sameFiles(t, "all changes", only(filesOf(t, f.src), others), only(was, others))
		})
	}
}

// foreignChanges are changes of one hierarchy.
type foreignChanges struct {
	t        *testing.T
	dir, src string
}

// only runs a command. It must change nothing in the hierarchy outside of one array.
func (f *foreignChanges) only(array string, args ...string) {
	f.t.Helper()
	outside := func(name, _ string) bool { return !strings.HasPrefix(name, array+"/") }
	was := only(filesOf(f.t, f.src), outside)
	must(f.t, "", args...)
	sameFiles(f.t, fmt.Sprintf("%q", args), only(filesOf(f.t, f.src), outside), was)
}

// holds fails the test unless an array has some elements.
func (f *foreignChanges) holds(array, want string) {
	f.t.Helper()
	if got := elementsAt(f.t, f.src+"/"+array, ""); got != want {
		f.t.Errorf("%q holds %s, want %s", array, got, want)
	}
}

// changes changes an array of three elements in every way.
func (f *foreignChanges) changes(array string) {
	f.t.Helper()
	node := f.src + "/" + array
	// The file of values has the name of the array, or a piece of it.
	base := filepath.Base(array)
	values := f.dir + "/values-" + base[:min(len(base), 200)]
	overwrite(f.t, values, "\x07\x08")
	f.only(array, "write", node, "--value", "1", "--yes")
	f.only(array, "append", node, values, "--format", "raw")
	f.holds(array, "[1,1,1,7,8]")
	f.only(array, "insert", node, "--axis", "0", "--at", "1", values, "--format", "raw", "--alone")
	f.holds(array, "[1,7,8,1,1,7,8]")
	f.only(array, "drop", node, "--axis", "0", "--range", "1:3", "--alone", "--yes")
	f.holds(array, "[1,1,1,7,8]")
	f.only(array, "resize", node, "--shape", "4", "--yes")
	f.holds(array, "[1,1,1,7]")
	f.only(array, "attrs", node, "set", "x", `"y"`)
	if got := must(f.t, "", "attrs", node, "get", "x"); strings.TrimSpace(got) != `"y"` {
		f.t.Errorf("the attribute of %q is %s", array, got)
	}
	segment := f.dir + "/segment.zarr"
	must(f.t, "", "copy", node, segment)
	f.only(array, "stitch", node, segment, "--alone")
	f.holds(array, "[1,1,1,7,1,1,1,7]")
	overwrite(f.t, f.dir+"/mask", "\x01\x00\x00\x01\x00\x00\x00\x00")
	f.only(array, "filter", node, f.dir+"/filtered.zarr", "--mask", f.dir+"/mask")
	if got := elementsAt(f.t, f.dir+"/filtered.zarr", ""); got != "[1,7]" {
		f.t.Errorf("of %q the filter keeps %s", array, got)
	}
	for _, made := range []string{values, segment, f.dir + "/filtered.zarr"} {
		if err := os.RemoveAll(made); err != nil {
			f.t.Fatal(err)
		}
	}
}

// checksums writes the sums of all values, and checks the hierarchy with them. A value
// that is damaged is found, whatever its name.
func (f *foreignChanges) checksums(was map[string]string) {
	f.t.Helper()
	list := f.dir + "/sums.sha256"
	must(f.t, "", "check", f.src, "--write-checksums", list)
	must(f.t, "", "check", f.src, "--against", list)
	sameFiles(f.t, "check", filesOf(f.t, f.src), was)
	for name, text := range was {
		if !strings.HasSuffix(name, "/0") || isForeign(name, text) {
			continue
		}
		overwrite(f.t, f.src+"/"+name, "bad")
		if out, errs, status := execute(f.t, "", "check", f.src, "--against", list); status != 1 {
			f.t.Errorf("%q is damaged: status %d, %s%s", name, status, out, errs)
		}
		overwrite(f.t, f.src+"/"+name, text)
		return
	}
}

// plans mirrors the hierarchy by a plan that processes share.
func (f *foreignChanges) plans(arrays []string) {
	f.t.Helper()
	plan, mirror := f.dir+"/plan", f.dir+"/planned.zarr"
	must(f.t, "", "copy", "--sync", f.src, mirror, "--plan", plan)
	for _, task := range []string{"0/2", "1/2"} {
		must(f.t, "", "run", plan, "--task", task)
	}
	must(f.t, "", "run", plan, "--publish")
	must(f.t, "", "equal", f.src, mirror)
	for _, name := range arrays {
		if got, want := elementsAt(f.t, mirror+"/"+name, ""), elementsAt(f.t, f.src+"/"+name, ""); got != want {
			f.t.Errorf("%q of the mirror holds %s, want %s", name, got, want)
		}
	}
}
