// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// Documents as zarr-python writes them.
const (
	foreignFile  = "a file of another program"
	foreignGroup = `{"zarr_format":3,"node_type":"group"}`
)

// knownNames are names that have caused trouble, among them several spellings of one.
var knownNames = []string{
	"good", "a:b", "T:2m", "ta\tb", `back\slash`, `..\up`, `c:\x`, "C:", "line\nbreak", "\x1b[31mred", "\u202e", " ", " a", "a ", "a  b", "...", "..a", "a.", ".hidden",
	"\xff", "a\xc3", "é", "e\u0301", "É", "A", "a", "ſ", "\u212a", "K", "%2F", "a%00b", "?", "*", "#", "'", "\"", "$HOME", "-", "--help", "~", "c", "0", "0.0", "con", "NUL",
	"x.zip", "y.zarr", "__x", "zarr", strings.Repeat("n", 255), strings.Repeat("é", 127),
}

// foreignName draws a name of a file: any bytes but zero and a slash.
func foreignName(r *rand.Rand) string {
	if r.IntN(3) > 0 {
		return knownNames[r.IntN(len(knownNames))]
	}
	for {
		name := make([]byte, 1+r.IntN(1+r.IntN(255)))
		for i := range name {
			for name[i] == 0 || name[i] == '/' {
				name[i] = byte(r.IntN(256))
			}
		}
		if s := string(name); s != "." && s != ".." {
			return s
		}
	}
}

// foreignTree makes a hierarchy with such names, and returns the paths of its arrays.
func foreignTree(t *testing.T, r *rand.Rand, top string) (arrays []string) {
	t.Helper()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		overwrite(t, name, text)
	}
	write(top+"/zarr.json", foreignGroup)
	groups := []string{""}
	for range 12 {
		dir := groups[r.IntN(len(groups))]
		name := strings.TrimPrefix(dir+"/"+foreignName(r), "/")
		// PATH_MAX bounds what one call of the system takes.
		if _, err := os.Lstat(top + "/" + name); err == nil || len(name) > 2000 {
			continue
		}
		switch r.IntN(4) {
		case 0:
			write(top+"/"+name+"/zarr.json", foreignGroup)
			groups = append(groups, name)
		case 1:
			write(top+"/"+name, foreignFile)
		default:
			write(top+"/"+name+"/zarr.json", foreignArray)
			write(top+"/"+name+"/0", fmt.Sprintf("%03d", r.IntN(1000)))
			arrays = append(arrays, name)
		}
	}
	slices.Sort(arrays)
	return arrays
}

// filesOf returns the contents of all files below a directory, as the system lists them.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "__varve") {
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// only returns the files for which keep is true.
func only(files map[string]string, keep func(name, text string) bool) map[string]string {
	some := maps.Clone(files)
	maps.DeleteFunc(some, func(name, text string) bool { return !keep(name, text) })
	return some
}

// isForeign reports whether a file is of another program.
func isForeign(_, text string) bool { return text == foreignFile }

func sameFiles(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if text, found := got[name]; !found || text != want[name] {
			t.Errorf("%s: %q is %q (%t), want %q", what, name, text, found, want[name])
		}
	}
	for name := range got {
		if _, found := want[name]; !found {
			t.Errorf("%s: there is %q", what, name)
		}
	}
}

// treeArrays returns the paths of the arrays that varve tree prints.
func treeArrays(t *testing.T, node string) (arrays []string) {
	t.Helper()
	type branch struct {
		Name, Kind string
		Members    []json.RawMessage
	}
	var walk func(raw []byte, dir string)
	walk = func(raw []byte, dir string) {
		var b branch
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Members {
			var below branch
			if err := json.Unmarshal(m, &below); err != nil {
				t.Fatal(err)
			}
			at := strings.TrimPrefix(dir+"/"+below.Name, "/")
			if below.Kind == "array" {
				arrays = append(arrays, at)
			}
			walk(m, at)
		}
	}
	walk([]byte(must(t, "", "tree", "--json", node)), "")
	return arrays
}

// asText returns names as JSON shows them.
func asText(names []string) (texts []string) {
	for _, name := range names {
		raw, _ := json.Marshal(name)
		var text string
		_ = json.Unmarshal(raw, &text) // of what Marshal made
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// TestForeignNames runs commands on hierarchies with any names that a file can have, and
// compares what they list, copy, convert and remove with what the system lists.
func TestForeignNames(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 36))
			dir := t.TempDir()
			src := dir + "/src.zarr"
			arrays := foreignTree(t, r, src)
			was := filesOf(t, src)
			if got := treeArrays(t, src); !slices.Equal(asText(got), asText(arrays)) {
				t.Errorf("tree: %q, want %q", got, arrays)
			}
			for _, name := range arrays {
				if err := json.Unmarshal([]byte(must(t, "", "info", "--json", src+"/"+name)), new(any)); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			}
			foreignManifest(t, dir+"/m.vz", src, arrays)
			foreignCopies(t, dir, src, was)
			foreignConversions(t, dir, src, arrays, was)
			foreignConsolidation(t, dir+"/dst.zarr", arrays)
			must(t, "", "copy", "--move", src, dir+"/moved.zarr")
			if _, err := os.Stat(src); err == nil {
				t.Error("the source is still there")
			}
			sameFiles(t, "move", filesOf(t, dir+"/moved.zarr"), was)
			foreignRemovals(t, dir+"/moved.zarr", arrays)
		})
	}
}

// foreignManifest makes a manifest of a hierarchy, and compares both. What a manifest
// cannot have is left out by name.
func foreignManifest(t *testing.T, out, src string, arrays []string) {
	t.Helper()
	printed, errs, status := execute(t, "", "virtualize", "--json", "-o", out, src)
	var r struct {
		Left []struct {
			Path  string `json:"path"`
			Array bool   `json:"array"`
		} `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatalf("status %d, %s: %v", status, errs, err)
	}
	left := map[string]bool{}
	for _, x := range r.Left {
		left[x.Path] = x.Array
	}
	var taken []string
	for _, name := range arrays {
		switch text := asText([]string{name})[0]; {
		case !isUnlisted(name):
			taken = append(taken, name)
			if got, want := must(t, "", "cat", out+"/"+name), must(t, "", "cat", src+"/"+name); got != want {
				t.Errorf("%q: %s, want %s", name, got, want)
			}
		case !left[text] || status != 3:
			t.Errorf("virtualize: status %d, and %q is not left out: %v", status, name, r.Left)
		}
	}
	if got := treeArrays(t, out); !slices.Equal(asText(got), asText(taken)) {
		t.Errorf("manifest: %q, want %q", got, taken)
	}
}

// foreignCopies copies and mirrors a hierarchy, and compares both.
func foreignCopies(t *testing.T, dir, src string, was map[string]string) {
	t.Helper()
	must(t, "", "copy", src, dir+"/dst.zarr")
	sameFiles(t, "copy", filesOf(t, dir+"/dst.zarr"), was)
	for range 2 {
		must(t, "", "copy", "--sync", src, dir+"/mirror.zarr")
		sameFiles(t, "mirror", filesOf(t, dir+"/mirror.zarr"), only(was, func(name, text string) bool { return !isForeign(name, text) }))
	}
	must(t, "", "diff", src, dir+"/mirror.zarr")
	must(t, "", "equal", src, dir+"/dst.zarr")
	foreignArchive(t, dir, was)
	must(t, "", "check", dir+"/dst.zarr")
	for name := range was {
		array, isDocument := strings.CutSuffix(name, "/zarr.json")
		if !isDocument || was[array+"/0"] == "" {
			continue
		}
		if err := os.RemoveAll(dir + "/mirror.zarr/" + array); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"diff", "equal"} {
			if out, errs, status := execute(t, "", command, src, dir+"/mirror.zarr"); status != 1 || !strings.Contains(out+errs, "only in A") || unprintable(out+errs) >= 0 {
				t.Errorf("%s without %q: status %d, %s%s", command, array, status, out, errs)
			}
		}
		return
	}
}

// foreignArchive copies a hierarchy to an archive and back. An archive has no names that
// are no text, or that lead out of the directory where it is extracted on Windows.
func foreignArchive(t *testing.T, dir string, was map[string]string) {
	t.Helper()
	var refused []string
	drive := regexp.MustCompile(`(?i)^[a-z]:[\\/]`)
	for name := range was {
		if drive.MatchString(name) || strings.HasPrefix(name, `..\`) || strings.Contains(name, `/..\`) || !utf8.ValidString(name) {
			refused = append(refused, strconv.Quote(name))
		}
	}
	_, errs, status := execute(t, "", "copy", dir+"/dst.zarr", dir+"/a.zip")
	named := slices.ContainsFunc(refused, func(name string) bool { return strings.Contains(errs, name) })
	archived := len(refused) == 0
	if archived != (status == 0) || archived == named {
		t.Errorf("archive: status %d, %s, and an archive cannot hold %q", status, errs, refused)
	}
	if archived {
		must(t, "", "copy", dir+"/a.zip", dir+"/back.zarr")
		sameFiles(t, "from the archive", filesOf(t, dir+"/back.zarr"), was)
	}
}

// foreignConversions converts a hierarchy to another place and, a copy of it, in place.
func foreignConversions(t *testing.T, dir, src string, arrays []string, was map[string]string) {
	t.Helper()
	must(t, "", "convert", src, dir+"/v2.zarr", "--to", "2")
	must(t, "", "copy", src, dir+"/here.zarr")
	must(t, "", "convert", dir+"/here.zarr", "--to", "2")
	for _, place := range []string{dir + "/v2.zarr", dir + "/here.zarr"} {
		if got := treeArrays(t, place); !slices.Equal(asText(got), asText(arrays)) {
			t.Errorf("tree of %s: %q, want %q", place, got, arrays)
		}
		sameFiles(t, "conversion", only(filesOf(t, place), isForeign), only(was, isForeign))
	}
	must(t, "", "equal", src, dir+"/v2.zarr")
}

// foreignConsolidation consolidates a hierarchy. What JSON cannot name is an error.
func foreignConsolidation(t *testing.T, group string, arrays []string) {
	t.Helper()
	_, errs, status := execute(t, "", "consolidate", group)
	if status == 1 && !slices.ContainsFunc(treePaths(t, group), isUnlisted) {
		t.Errorf("consolidate: %s", errs)
	}
	if status == 0 {
		if got := treeArrays(t, group); !slices.Equal(asText(got), asText(arrays)) {
			t.Errorf("consolidated: %q, want %q", got, arrays)
		}
	}
}

// treePaths returns the directories of the nodes below a group.
func treePaths(t *testing.T, group string) (names []string) {
	t.Helper()
	for name := range filesOf(t, group) {
		if dir, isDocument := strings.CutSuffix(name, "/zarr.json"); isDocument {
			names = append(names, dir)
		}
	}
	return names
}

// isUnlisted reports whether consolidated metadata has no such path.
func isUnlisted(name string) bool {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if strings.Trim(part, ".") == "" {
			return true
		}
	}
	return !utf8.ValidString(name) || strings.Contains(name, `:\`) || strings.ContainsAny(name, `\`)
}

// foreignRemovals removes nodes one by one.
func foreignRemovals(t *testing.T, group string, arrays []string) {
	t.Helper()
	for i, name := range arrays {
		was := filesOf(t, group)
		if i%2 == 0 {
			must(t, "", "vacuum", group+"/"+name)
		}
		must(t, "", "rm", "--yes", group+"/"+name)
		sameFiles(t, "rm", filesOf(t, group), only(was, func(file, _ string) bool { return !strings.HasPrefix(file, name+"/") }))
	}
	must(t, "", "rm", "--yes", group)
	if _, err := os.Stat(group); err == nil {
		t.Errorf("%s is still there", group)
	}
}

// TestUnusableNames runs commands on a group with a pipe, with a node that has the name
// of Varve's own directory, and with a file that only begins like a temporary one.
// Commands that only look say so, and all others fail and change nothing.
func TestUnusableNames(t *testing.T) {
	for name, words := range map[string]string{
		"pi\tpe": `"pi\tpe" (it is no regular file`, "__varve/.zarray": `".zarray" (it is of another program`,
		"__varve/x/.zgroup": `"x" (it is of another program`, "__tmp-results": `"__tmp-results" (the name is reserved`,
	} {
		t.Run(name, func(t *testing.T) { unusableName(t, name, words) })
	}
}

// unusableName runs commands on a group with something that no call can use. words are of
// the message.
func unusableName(t *testing.T, name, words string) {
	t.Helper()
	dir := t.TempDir()
	src := dir + "/src.zarr"
	must(t, "", "create", src, "--group")
	must(t, "", "create", src+"/a", "--group")
	overwrite(t, src+"/a/zarr.json", foreignArray)
	must(t, "", "create", dir+"/other.zarr", "--group")
	if strings.HasPrefix(name, "__") {
		file := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		overwrite(t, file, "{}")
	} else if err := syscall.Mkfifo(src+"/"+name, 0o666); err != nil {
		t.Skip(err)
	}
	was := treeOf(t, src)
	for _, args := range [][]string{{"tree", src}, {"ls", src}, {"info", src}} {
		if out, errs, status := execute(t, "", args...); status != 0 || !strings.Contains(errs, words) || !strings.Contains(out, "int8") {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
	for _, args := range [][]string{
		{"copy", src, dir + "/dst.zarr"}, {"copy", "--move", src, dir + "/dst.zarr"}, {"copy", "--sync", src, dir + "/dst.zarr"},
		{"convert", src, "--to", "2"}, {"convert", src, dir + "/dst.zarr", "--to", "2"}, {"consolidate", src}, {"check", src},
		{"equal", src, src}, {"diff", src, src}, {"rm", "--yes", src}, {"copy", "--overwrite", "--yes", dir + "/other.zarr", src},
	} {
		if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, words[strings.IndexByte(words, '('):]) {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
		if _, err := os.Stat(dir + "/dst.zarr/zarr.json"); err == nil {
			t.Errorf("%q makes a node", args)
		}
		if is := treeOf(t, src); is != was {
			t.Errorf("%q leaves %s, want %s", args, is, was)
		}
	}
}

// TestRemoveUnusable removes an array that has a pipe among its chunks. The array stays
// visible.
func TestRemoveUnusable(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int8", "--chunks", "2")
	must(t, "", "write", node, "--value", "3")
	if err := syscall.Mkfifo(node+"/c/pipe", 0o666); err != nil {
		t.Skipf("the file system has no pipes: %v", err)
	}
	was := treeOf(t, node)
	if _, errs, status := execute(t, "", "rm", "--yes", node); status != 1 || !strings.Contains(errs, "c/pipe") {
		t.Errorf("status %d, %s", status, errs)
	}
	if is := treeOf(t, node); is != was {
		t.Errorf("there is %s, want %s", is, was)
	}
}
