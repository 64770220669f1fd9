// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
)

// TestIcechunk makes a repository, commits to it by several commands, and reads each
// state as it was.
func TestIcechunk(t *testing.T) {
	dir := filepath.ToSlash(filepath.Join(t.TempDir(), "repo"))
	must(t, "", "icechunk", "init", dir)
	at := "icechunk+file://" + dir + "@"
	_, errs, status := execute(t, "", "create", at+"main/a", "--shape", "3", "--dtype", "int8", "--chunks", "[[3]]", "-m", "a new array")
	if status != 0 || !strings.Contains(errs, "to the branch main") {
		t.Fatal(status, errs)
	}
	do(t, "[1,2,3]", "write", at+"main/a", "--format", "json")
	must(t, "", "icechunk", "tag", dir, "v1")
	for _, days := range []string{"[4,5]", "[6]"} {
		do(t, days, "append", at+"main/a", "--format", "json", "-m", "days "+days)
	}
	must(t, "", "icechunk", "branch", dir, "dev", "--at", "tag:v1")
	do(t, "", "compact", at+"main/a", "--to", "max:6", "--metadata", "author=ada", "--metadata", "a=b=c\n")
	do(t, "[9]", "append", at+"dev/a", "--format", "json")
	for ref, want := range map[string]string{"main": "[1,2,3,4,5,6]", "tag:v1": "[1,2,3]", "dev": "[1,2,3,9]"} {
		if got := strings.TrimSpace(must(t, "", "export", at+ref+"/a", "--format", "json")); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
	log := must(t, "", "icechunk", "log", at+"main")
	ids := regexp.MustCompile(`(?m)^[0-9A-Z]{20}  \S+Z  `)
	if got, want := ids.ReplaceAllString(log, ""), "varve compact  a=b=c\\n  author=ada\ndays [6]\ndays [4,5]\nvarve write\na new array\nRepository initialized\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	commits := decode(t, must(t, "", "icechunk", "log", at+"main", "--json"))["commits"].([]any)
	if got := commits[0].(map[string]any)["metadata"]; !reflect.DeepEqual(got, map[string]any{"author": "ada", "a": "b=c\n"}) {
		t.Errorf("the last commit has the metadata %v", got)
	}
	second := strings.Fields(strings.Split(log, "\n")[1])[0]
	if got := strings.TrimSpace(must(t, "", "export", at+second+"/a", "--format", "json")); got != "[1,2,3,4,5,6]" {
		t.Errorf("the commit before is %s", got)
	}
	must(t, "", "check", at+"main")
	must(t, "", "icechunk", "tag", dir, "v1", "--delete", "--yes")
	for what, args := range map[string][]string{
		"name is never used again": {"icechunk", "tag", dir, "v1"}, "exists already": {"icechunk", "init", dir},
		"no such reference": {"info", at + "tag:v1"}, "write to a branch": {"append", at + second + "/a", "x.npy"},
		"always has the branch main": {"icechunk", "branch", dir, "main", "--delete"}, "a tag never changes": {"icechunk", "tag", dir, "v2", "--reset", "main"},
		"leads to a node": {"icechunk", "log", at + "main/a"}, "there is no action": {"icechunk", "rebase", dir},
	} {
		if _, errs, status := execute(t, "", args...); status == 0 || !strings.Contains(errs, what) {
			t.Errorf("%q: status %d, %s, want %q", args, status, errs, what)
		}
	}
}

// do runs a command that may tell of a commit.
func do(t *testing.T, in string, args ...string) {
	t.Helper()
	if _, errs, status := execute(t, in, args...); status != 0 || strings.Count(errs, "\n") > 1 {
		t.Fatalf("varve %q: status %d, %s", args, status, errs)
	}
}

// repositoryWithArray makes a repository with the array a of the elements 1, 2 and 3. It
// returns the folder, and the location of main.
func repositoryWithArray(t *testing.T) (dir, main string) {
	t.Helper()
	dir = filepath.ToSlash(filepath.Join(t.TempDir(), "repo"))
	must(t, "", "icechunk", "init", dir)
	main = "icechunk+file://" + dir + "@main"
	do(t, "", "create", main+"/a", "--shape", "3", "--dtype", "int8", "--chunks", "[[3]]")
	do(t, "[1,2,3]", "write", main+"/a", "--format", "json")
	return dir, main
}

// refusesAll runs commands that must fail with a text, and change nothing.
func refusesAll(t *testing.T, dir string, lines map[string]string) {
	t.Helper()
	before := treeOf(t, dir)
	for line, want := range lines {
		_, errs, status := execute(t, "", strings.Fields(line)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s, want %q", line, status, errs, want)
		}
	}
	if treeOf(t, dir) != before {
		t.Error("a refused command has changed something")
	}
}

// TestIcechunkHTTP reads a repository from a web server, which is only read.
func TestIcechunkHTTP(t *testing.T) {
	dir := t.TempDir()
	at := "icechunk+file://" + filepath.ToSlash(filepath.Join(dir, "repo")) + "@main"
	must(t, "", "icechunk", "init", filepath.Join(dir, "repo"))
	do(t, "", "create", at+"/g/a", "--shape", "3", "--dtype", "int8", "--chunks", "[[2,1]]")
	do(t, "[1,2,3]", "write", at+"/g/a", "--format", "json")
	must(t, "", "icechunk", "tag", filepath.Join(dir, "repo"), "v1")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	for _, reference := range []string{"main", "tag:v1"} {
		from := "icechunk+" + server.URL + "/repo@" + reference
		if got := strings.TrimSpace(must(t, "", "export", from+"/g/a", "--format", "json")); got != "[1,2,3]" {
			t.Errorf("%s: %s", reference, got)
		}
		if got := must(t, "", "tree", from); !strings.Contains(got, "int8") {
			t.Error(got)
		}
	}
	if _, errs, status := execute(t, "[4]", "append", "icechunk+"+server.URL+"/repo@main/g/a", "--format", "json"); status != 1 || !strings.Contains(errs, "can only be read") {
		t.Errorf("an append: status %d, %s", status, errs)
	}
}

// TestIcechunkCache reads and changes a repository through a cache whose chunks and
// branches are trusted for an hour, while others commit.
func TestIcechunkCache(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", googleFake(t))
	const a = "icechunk+gs://bucket/repo@main/a"
	must(t, "", "icechunk", "init", "gs://bucket/repo")
	do(t, "", "create", a, "--shape", "1", "--dtype", "int8")
	through := []string{"--format", "json", "--cache", t.TempDir(), "--cache-age", "1h"}
	do(t, "[1]", slices.Concat([]string{"append", a}, through)...)
	do(t, "[2]", "append", a, "--format", "json")
	_, errs, status := execute(t, "[3]", slices.Concat([]string{"append", a}, through)...)
	if status != 0 || strings.Contains(errs, "not kept") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, args := range [][]string{{"export", a, "--format", "json"}, slices.Concat([]string{"export", a}, through)} {
		if got := strings.TrimSpace(must(t, "", args...)); got != "[0,1,2,3]" {
			t.Errorf("%q: %s", args, got)
		}
	}
	must(t, "", "icechunk", "check", "gs://bucket/repo")
}

// TestIcechunkMove moves nothing into a repository from elsewhere: the source would be
// gone if the commit failed.
func TestIcechunkMove(t *testing.T) {
	dir, main := repositoryWithArray(t)
	local := filepath.Join(t.TempDir(), "b.zarr")
	must(t, "", "copy", main+"/a", local)
	refusesAll(t, dir, map[string]string{
		"copy --move " + local + " " + main + "/b":                                     "copy first",
		"copy --move --dry-run " + local + " " + main + "/b":                           "copy first",
		"copy --move " + strings.Replace(main, "main", "dev", 1) + "/a " + main + "/b": "copy first",
	})
	if got := strings.TrimSpace(must(t, "", "export", local, "--format", "json")); got != "[1,2,3]" {
		t.Errorf("the source is %s", got)
	}
	out := filepath.Join(t.TempDir(), "out.zarr")
	do(t, "", "copy", "--move", main+"/a", out)
	must(t, "", "equal", out, local)
	refusesAll(t, dir, map[string]string{"info " + main + "/a": "no Zarr node here"})
}

// TestIcechunkDryRun plans changes of a branch, without and with the question that a
// terminal asks before it.
func TestIcechunkDryRun(t *testing.T) {
	dir, main := repositoryWithArray(t)
	must(t, "", "icechunk", "tag", dir, "v1")
	before := treeOf(t, dir)
	for _, line := range []string{
		"create M/b --shape 3 --dtype int8", "create M/g --group", "write M/a --value 7", "append M/a --format json", "resize M/a --shape 2",
		"rm M/a", "attrs M/a set n 1", "copy M/a M/c", "copy icechunk+file://" + dir + "@tag:v1/a M/c", "rechunk M/a --chunks 2", "compact M/a --to max:6",
		"unlock M/a --trim", "stitch M/a M/a", "check M --repair", "drop M/a --axis 0 --range 0:1", "create M/a --group --overwrite",
	} {
		args := append(strings.Fields(strings.ReplaceAll(line, "M", main)), "--dry-run")
		must(t, "[4]", args...)
		decode(t, must(t, "[4]", append(args, "--json")...))
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("dry runs have changed\n%s\ninto\n%s", before, after)
	}
	refusesAll(t, dir, map[string]string{
		"resize --dry-run icechunk+file://" + dir + "@tag:v1/a --shape 2": "cannot",
		"rm --dry-run " + main + "/none":                                  "no Zarr node here",
	})
	for _, line := range []string{"write M/a --value 7", "create M/a --group --overwrite", "copy M M2/all --overwrite", "rm M/a"} {
		line = strings.ReplaceAll(strings.ReplaceAll(line, "M2", t.TempDir()), "M", main)
		var errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(line), console.Streams{In: typing("y\n"), Out: new(bytes.Buffer), Err: &errs}); status != 0 {
			t.Errorf("%s: status %d, %s", line, status, &errs)
		}
	}
}

// TestIcechunkArguments checks that varve icechunk ignores nothing, and that a location
// without @ says where it belongs.
func TestIcechunkArguments(t *testing.T) {
	dir, main := repositoryWithArray(t)
	must(t, "", "icechunk", "tag", dir, "v1")
	do(t, "[4]", "append", main+"/a", "--format", "json")
	at := "icechunk+file://" + dir + "@"
	must(t, "", "icechunk", "branch", at+"tag:v1", "dev")
	must(t, "", "icechunk", "tag", at+"dev", "v2")
	for ref, want := range map[string]string{"dev": "[1,2,3]", "tag:v2": "[1,2,3]", "main": "[1,2,3,4]"} {
		if got := strings.TrimSpace(must(t, "", "export", at+ref+"/a", "--format", "json")); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
	refusesAll(t, dir, map[string]string{
		"icechunk tag " + at + "dev v3 --at main":               "give one of them",
		"icechunk branch " + dir + " dev --delete --at main":    "give one of them",
		"icechunk branch " + dir + " dev --delete --reset main": "give one of them",
		"icechunk branch " + dir + " dev --at v1 --reset main":  "give one of them",
		"icechunk branch " + at + "main dev --delete":           "leave it out",
		"icechunk branch " + at + "main dev --reset v1":         "leave it out",
		"icechunk branch " + at + "main":                        "leave out @main",
		"icechunk branch " + dir + " --delete":                  "need the NAME",
		"icechunk tag " + dir + " --limit-commits 3":            "is for log",
		"icechunk log " + dir + " main":                         "log takes a repository",
		"icechunk log " + dir + " --limit-commits -1":           "give 1 or more",
		"icechunk log " + dir + " --at main":                    "are for branch and tag",
		"icechunk init " + dir + "2 main":                       "init takes a repository alone",
		"icechunk init " + dir + "2 --at main":                  "are for branch and tag",
		"attrs " + main + "/a set n 1 --metadata ada":           "is no NAME=VALUE",
		"attrs " + main + "/a set n 1 --metadata =ada":          "is no NAME=VALUE",
		"icechunk init icechunk+file://" + dir + "2@main":       "leave out @main",
		"info icechunk+file://" + dir + "/a":                    "write @main before the path of a node, as in repo@main/a",
		"info icechunk+file://" + dir + "2":                     "nothing is here (varve icechunk init file://" + dir + "2 makes one)\n",
	})
	if _, err := os.Stat(dir + "2"); err == nil {
		t.Error("a refused init has made a folder")
	}
}

// TestIcechunkUndo moves and deletes references, and goes back by the commands that this
// tells.
func TestIcechunkUndo(t *testing.T) {
	dir, main := repositoryWithArray(t)
	last := strings.Fields(must(t, "", "icechunk", "log", main))[0]
	first := strings.Fields(must(t, "", "icechunk", "log", main, "--limit-commits", "2"))[len(strings.Fields(must(t, "", "icechunk", "log", main, "--limit-commits", "1")))]
	undo := func(want string, args ...string) {
		t.Helper()
		out := must(t, "", append([]string{"icechunk"}, args...)...)
		_, line, found := strings.Cut(out, "deletes that, varve ")
		if line = strings.TrimSuffix(line, " goes back\n"); !found || line != want || !strings.Contains(out, "from "+last) || !strings.Contains(out, "led to 1 commit") {
			t.Fatalf("%s, want %s", out, want)
		}
		args = strings.Fields(line)
		if slices.Contains(args, "--reset") {
			args = append(args, "--yes")
		}
		must(t, "", args...)
	}
	undo("icechunk branch "+dir+" main --reset "+last, "branch", dir, "main", "--reset", first, "--yes")
	must(t, "", "icechunk", "branch", dir, "dev")
	must(t, "", "icechunk", "branch", dir, "main", "--reset", first, "--yes")
	undo("icechunk branch "+dir+" dev --at "+last, "branch", dir, "dev", "--delete", "--yes")
	must(t, "", "icechunk", "tag", dir, "v1", "--at", "dev")
	must(t, "", "icechunk", "branch", dir, "dev", "--delete", "--yes")
	undo("icechunk branch "+dir+" v1 --at "+last, "tag", dir, "v1", "--delete", "--yes")
	is := decode(t, must(t, "", "icechunk", "branch", dir, "v1", "--reset", "main", "--yes", "--json"))
	if is["from"] != last || is["to"] != first || is["commits_unreached"] != 1.0 {
		t.Error(is)
	}
	is = decode(t, must(t, "", "icechunk", "branch", dir, "v1", "--delete", "--yes", "--json"))
	if is["from"] != first || is["to"] != nil || is["commits_unreached"] != 0.0 {
		t.Error(is)
	}
}

// TestIcechunkAsks deletes and moves references only with --yes, after it has found that
// it can. A dry run of every change says the same and changes nothing.
func TestIcechunkAsks(t *testing.T) {
	dir, main := repositoryWithArray(t)
	first := strings.Fields(must(t, "", "icechunk", "log", main, "--limit-commits", "2"))
	must(t, "", "icechunk", "tag", dir, "v1")
	must(t, "", "icechunk", "branch", dir, "dev")
	refusesAll(t, dir, map[string]string{
		"icechunk tag " + dir + " v1 --delete":                       "this deletes the tag v1 of " + dir + ", whose name is never used again: give --yes, or --dry-run",
		"icechunk branch " + dir + " dev --delete":                   "this deletes the branch dev of " + dir + ": give --yes, or --dry-run",
		"icechunk branch " + dir + " main --reset " + first[0]:       "this moves the branch main of " + dir + " to " + first[0] + ": give --yes",
		"icechunk branch " + dir + " none --delete":                  `branch "none"`,
		"icechunk branch " + dir + " main --reset none --dry-run":    `"none" is no branch`,
		"icechunk branch " + dir + " main --delete --dry-run":        "always has the branch main",
		"icechunk tag " + dir + " v1 --dry-run":                      "exists already",
		"icechunk tag " + dir + " v2 --yes":                          "--yes is for --delete and --reset",
		"icechunk tag " + dir + " --dry-run":                         "give its NAME",
		"icechunk tag icechunk+" + dir + "@main v2 -m x":             "this command makes none",
		"icechunk expire icechunk+" + dir + " --older-than 0s -m x":  "this command makes none",
		"icechunk clone icechunk+" + dir + "@main " + dir + "2 -m x": "this command makes none",
	})
	before := treeOf(t, dir)
	for line, want := range map[string]string{
		"tag " + dir + " v1 --delete":        "tag v1: would be deleted, from ",
		"branch " + dir + " dev --delete":    "branch dev: would be deleted, from ",
		"branch " + dir + " dev --reset v1":  "",
		"branch " + dir + " new":             "branch new: would be created at ",
		"tag " + dir + " new --at dev":       "tag new: would be created at ",
		"container " + dir + " s3://bucket/": "container s3://bucket/: would be added",
	} {
		if want == "" {
			line, want = strings.ReplaceAll(line, "v1", "tag:v1"), "branch dev: would be moved to tag:v1, from "
		}
		args := append([]string{"icechunk"}, strings.Fields(line+" --dry-run")...)
		if out := must(t, "", args...); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %s, want %s", line, out, want)
		}
		if is := decode(t, must(t, "", append(args, "--json")...)); is["dry_run"] != true {
			t.Error(is)
		}
	}
	if treeOf(t, dir) != before {
		t.Error("a dry run has changed something")
	}
}

// TestIcechunkStaging opens one branch by several spellings at once, and reads what is
// staged. After the commit, another session begins.
func TestIcechunkStaging(t *testing.T) {
	dir, main := repositoryWithArray(t)
	staged := new(icechunk.Staging)
	defer staged.Close()
	ctx := icechunk.WithStaging(t.Context(), staged)
	up, name := filepath.ToSlash(filepath.Dir(dir)), filepath.Base(dir)
	spellings := []string{
		main, "icechunk+file://" + dir, "icechunk+file://" + dir + "@branch:main", "icechunk+file://" + dir + "/@main",
		"icechunk+file://" + up + "//" + name + "/./@main", "icechunk+file://" + up + "/x/../" + name,
	}
	stores := make([]store.Store, len(spellings))
	var all sync.WaitGroup
	for i, location := range spellings {
		all.Go(func() {
			s, _, err := store.OpenLocation(ctx, location, store.ReadWrite)
			if err != nil {
				t.Errorf("%s: %v", location, err)
			}
			stores[i] = s
		})
	}
	all.Wait()
	for i, s := range stores {
		if s != stores[0] {
			t.Errorf("%s is another session", spellings[i])
		}
	}
	a, err := zarr.OpenArray(ctx, spellings[1]+"@main/a", &zarr.Options{Write: true})
	if err == nil {
		err = errors.Join(a.Resize(ctx, []int64{5}, nil), a.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	lengths := func(want, outside int64) {
		t.Helper()
		for _, c := range []struct {
			n int64
			a *zarr.Array
		}{{want, opened(t)(zarr.OpenArray(ctx, main+"/a", nil))}, {outside, opened(t)(zarr.OpenArray(t.Context(), main+"/a", nil))}} {
			if got := c.a.Shape()[0]; got != c.n {
				t.Errorf("the array has %d elements, want %d", got, c.n)
			}
			_ = c.a.Close()
		}
	}
	lengths(5, 3)
	if list, err := staged.Commit(ctx, "first"); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	lengths(5, 5)
	do(t, "[6]", "append", main+"/a", "--format", "json") // by somebody else
	lengths(6, 6)
	a = opened(t)(zarr.OpenArray(ctx, main+"/a", &zarr.Options{Write: true}))
	if err := errors.Join(a.Resize(ctx, []int64{7}, nil), a.Close()); err != nil {
		t.Fatal(err)
	}
	if list, err := staged.Commit(ctx, "second"); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	lengths(7, 7)
}

// opened returns a function that fails the test instead of returning an error.
func opened(t *testing.T) func(*zarr.Array, error) *zarr.Array {
	return func(a *zarr.Array, err error) *zarr.Array {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// busyInput is a standard input that calls before its first byte is read.
type busyInput struct {
	first  sync.Once
	before func()
	io.Reader
}

func (b *busyInput) Read(p []byte) (int, error) {
	b.first.Do(b.before)
	return b.Reader.Read(p)
}

// TestIcechunkFailedCommit makes a commit fail: with --json there is one document, which
// has the error.
func TestIcechunkFailedCommit(t *testing.T) {
	_, main := repositoryWithArray(t)
	in := &busyInput{Reader: strings.NewReader("[4]"), before: func() { do(t, "", "attrs", main+"/a", "set", "n", "1") }}
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"insert", main + "/a", "--axis", "0", "--at", "3", "--format", "json", "--json"}, console.Streams{In: in, Out: &out, Err: &errs})
	if status == 0 || out.Len() > 0 || !json.Valid(errs.Bytes()) || !strings.Contains(errs.String(), "conflict") {
		t.Errorf("status %d, %s and %s", status, &out, &errs)
	}
	if got := strings.TrimSpace(must(t, "", "export", main+"/a", "--format", "json")); got != "[1,2,3]" {
		t.Errorf("the array is %s", got)
	}
	decode(t, must(t, "[4]", "append", main+"/a", "--format", "json", "--json"))
}

// TestIcechunkCopies fills a repository from a folder, within a repository and by other
// commands, and copies a snapshot out again.
func TestIcechunkCopies(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	must(t, "", "create", dir+"/x.zarr/a", "--shape", "4,4", "--dtype", "int16", "--chunks", "2,4")
	must(t, "[[1,2,3,4],[5,6,7,8],[1,2,3,4],[5,6,7,8]]", "write", dir+"/x.zarr/a", "--format", "json")
	must(t, "", "icechunk", "init", dir+"/repo")
	at := "icechunk+file://" + dir + "/repo@main"
	do(t, "", "copy", dir+"/x.zarr", at+"/x", "-m", "import")
	do(t, "", "copy", at+"/x/a", at+"/y")
	do(t, "", "copy", dir+"/x.zarr/a", at+"/y", "--overwrite")
	do(t, "", "rechunk", dir+"/x.zarr/a", at+"/z", "--chunks", "4,2")
	must(t, "", "copy", at+"/x", dir+"/out.zarr")
	for _, is := range []string{at + "/x/a", at + "/y", at + "/z", dir + "/out.zarr/a"} {
		must(t, "", "equal", dir+"/x.zarr/a", is)
	}
	must(t, "", "check", at)
}

// TestIcechunkContainers adds and deletes containers of virtual chunks.
func TestIcechunkContainers(t *testing.T) {
	dir := filepath.ToSlash(filepath.Join(t.TempDir(), "repo"))
	must(t, "", "icechunk", "init", dir)
	raw := filepath.ToSlash(t.TempDir())
	if got := must(t, "", "icechunk", "container", dir); got != "no containers\n" {
		t.Errorf("%q", got)
	}
	for _, line := range []string{raw, "s3://bucket/raw?region=us-east-1", "gs://bucket/x/"} {
		if out := must(t, "", "icechunk", "container", dir, line); !strings.Contains(out, "added") {
			t.Error(out)
		}
	}
	must(t, "", "icechunk", "container", dir, "gs://bucket/x", "--delete")
	if got := must(t, "", "icechunk", "container", dir); got != "file://"+raw+"/\ns3://bucket/raw/\n" {
		t.Errorf("%q", got)
	}
	if got := decode(t, must(t, "", "icechunk", "container", dir, "--json"))["containers"]; len(got.([]any)) != 2 {
		t.Error(got)
	}
	if got := must(t, "", "icechunk", "container", dir, "s3://bucket/raw?region=us-east-1"); got != "container s3://bucket/raw: it is there already\n" {
		t.Error(got)
	}
	if repo, err := os.ReadDir(dir + "/overwritten"); err != nil || len(repo) != 8 {
		t.Errorf("%v, %v: what is there is added again, or its options are lost", repo, err)
	}
	refusesAll(t, dir, map[string]string{
		"icechunk container " + dir + " gs://bucket/x --delete": "no such reference",
		"icechunk container " + dir + " " + raw + "2":           "there is no folder file://" + raw + "2 on this machine",
		"icechunk container " + dir + " s3://b?colour=red":      "is none of a container",
		"icechunk container " + dir + " s3://b --at main":       "are for branch and tag",
		"icechunk container " + dir + " --delete":               "need the NAME",
	})
}
