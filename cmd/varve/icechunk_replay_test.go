// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// rivalled runs a command whose standard input has its first byte only after other
// commands have committed.
func rivalled(t *testing.T, in string, others []string, args ...string) (out, errs string, status int) {
	t.Helper()
	busy := &busyInput{Reader: strings.NewReader(in), before: func() {
		for _, line := range others {
			value, line, _ := strings.Cut(line, " < ")
			do(t, value, strings.Fields(line)...)
		}
	}}
	var o, e bytes.Buffer
	status = run(t.Context(), args, console.Streams{In: busy, Out: &o, Err: &e})
	return o.String(), e.String(), status
}

// TestIcechunkMeeting runs commands that each meet commits of others. Those that collide
// only by position or by the document succeed, and others are refused with the reason.
func TestIcechunkMeeting(t *testing.T) {
	for _, c := range []struct {
		in, others, line string // M is the branch main
		want             string // the array a at the end, "" if the command is refused
		text             string // in the error or in a note
	}{
		{"[4]", "[9] < append M/a --format json", "append M/a --format json", "[1,2,3,9,4]", "begins again"},
		{"[4]", " < write M/a --value 7 --select 0", "append M/a --format json", "[7,2,3,4]", ""},
		{"[4]", " < write M/b --value 7", "append M/a --format json", "[1,2,3,4]", "committed"},
		{"[4]", "[9] < append M/a --format json; < compact M/a --to max:9", "append M/a --format json", "[1,2,3,9,4]", "begins again"},
		{"[4]", " < attrs M/a set n 1", "append M/a --format json", "[1,2,3,4]", "begins again"},
		{"[4]", " < icechunk gc R --older-than 0s --yes", "append M/a --format json", "[1,2,3,4]", "garbage was collected meanwhile"},
		{"[4]", "[9] < append M/a --format json", "append M/a --format json --expect 3", "", "was expected"},
		{"[4]", " < rm M/a --yes", "append M/a --format json", "", "begins again"},
		{"[7]", "[9] < append M/a --format json", "write M/a --select 1 --format json", "[1,7,3,9]", "begins again"},
		{"[7]", " < write M/a --value 8 --select 0", "write M/a --select 1 --format json", "[8,7,3]", "begins again"},
		{"[7]", " < write M/a --value 8 --select 1", "write M/a --select 1 --format json", "", "changed or moved the elements"},
		{"[7]", " < drop M/a --axis 0 --range 0:1 --yes", "write M/a --select 1 --format json", "", "changed or moved the elements"},
		{"[7]", "[9] < append M/a --format json; < compact M/a --to max:9", "write M/a --select 1 --format json", "[1,7,3,9]", "begins again"},
		{"[7]", "[9] < append M/a --format json", "write M/a --select -1 --format json", "", "changed or moved the elements"},
	} {
		repository, main := repositoryWithArray(t)
		do(t, "", "create", main+"/b", "--shape", "3", "--dtype", "int8")
		do(t, "", "unlock", main+"/a")
		var others []string
		for other := range strings.SplitSeq(strings.NewReplacer("M", main, "R", repository).Replace(c.others), ";") {
			others = append(others, strings.TrimPrefix(other, " "))
		}
		for i := range others {
			if !strings.Contains(others[i], " < ") {
				others[i] = " " + others[i]
			}
		}
		out, errs, status := rivalled(t, c.in, others, strings.Fields(strings.ReplaceAll(c.line, "M", main))...)
		if (status == 0) != (c.want != "") || !strings.Contains(errs, c.text) || strings.Contains(out, "→") && status != 0 {
			t.Errorf("%s beside %s: status %d, %s%s", c.line, c.others, status, out, errs)
			continue
		}
		if c.want == "" {
			continue
		}
		if got := strings.TrimSpace(must(t, "", "export", main+"/a", "--format", "json")); got != c.want {
			t.Errorf("%s beside %s: %s, want %s", c.line, c.others, got, c.want)
		}
		must(t, "", "check", main)
	}
}

// TestIcechunkReport reads the report of a command that ran twice: it tells of the second
// run alone, and where the elements went.
func TestIcechunkReport(t *testing.T) {
	_, main := repositoryWithArray(t)
	others := []string{"[9,9] < append " + main + "/a --format json -m rival"}
	out, errs, status := rivalled(t, "[4]", others, "append", main+"/a", "--format", "json", "--json")
	var is struct {
		Before []int `json:"shape_before"`
		Shape  []int
		Notes  []string
	}
	if err := json.Unmarshal([]byte(out), &is); err != nil || status != 0 || errs != "" {
		t.Fatal(status, err, out, errs)
	}
	if !slices.Equal(is.Before, []int{5}) || !slices.Equal(is.Shape, []int{6}) || len(is.Notes) != 1 || !strings.Contains(is.Notes[0], `"rival"`) {
		t.Errorf("%+v", is)
	}
	out, _, _ = rivalled(t, "[4]", others, "append", main+"/a", "--format", "json")
	if strings.Count(out, "→") != 1 || !strings.Contains(out, "8 → 9") && !strings.Contains(out, "(8) → (9)") {
		t.Errorf("%q", out)
	}
}

// TestIcechunkFixed refuses commands that cannot run again, with the reason.
func TestIcechunkFixed(t *testing.T) {
	_, main := repositoryWithArray(t)
	rival := []string{" < attrs " + main + "/a set n 1"}
	lines := &lineInput{}
	for _, c := range []struct{ line, want string }{
		{"resize M/a --shape 2", "it names lengths"},
	} {
		lines.lines, lines.before = []string{"y\n"}, func() {
			value, line, _ := strings.Cut(rival[0], " < ")
			do(t, strings.TrimSpace(value), strings.Fields(line)...)
			rival[0] = strings.Replace(rival[0], "n 1", "n 2", 1)
		}
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(strings.ReplaceAll(c.line, "M", main)), console.Streams{In: lines, Out: &out, Err: &errs})
		if status == 0 || out.Len() > 0 || !strings.Contains(errs.String(), c.want) || !strings.Contains(errs.String(), "varve attrs") {
			t.Errorf("%s: status %d, %s", c.line, status, &errs)
		}
	}
}

// lineInput is a terminal that gives one line for each read, and calls before with the
// first one.
type lineInput struct {
	lines  []string
	before func()
}

func (*lineInput) IsTerminal() bool { return true }

func (l *lineInput) Read(p []byte) (int, error) {
	if l.before != nil {
		l.before()
		l.before = nil
	}
	if len(l.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.lines[0])
	l.lines = l.lines[1:]
	return n, nil
}

// TestIcechunkDropMeets drops the oldest elements while somebody else appends, and is
// refused while somebody else drops the same.
func TestIcechunkDropMeets(t *testing.T) {
	for rival, want := range map[string]string{
		"[9] < append M/a --format json":                 "[2,3,9]",
		" < drop M/a --axis 0 --range 0:1 --yes":         "[2,3]",
		"[0] < insert M/a --axis 0 --at 0 --format json": "[0,1,2,3]",
	} {
		_, main := repositoryWithArray(t)
		do(t, "", "unlock", main+"/a")
		in := &lineInput{lines: []string{"y\n", "y\n"}, before: func() {
			value, line, _ := strings.Cut(strings.ReplaceAll(rival, "M", main), " < ")
			do(t, strings.TrimSpace(value), strings.Fields(line)...)
		}}
		var out, errs bytes.Buffer
		status := run(t.Context(), []string{"drop", main + "/a", "--axis", "0", "--range", "0:1"}, console.Streams{In: in, Out: &out, Err: &errs})
		if (status == 0) != strings.Contains(rival, "append") {
			t.Errorf("beside %s: status %d, %s", rival, status, &errs)
		}
		if got := strings.TrimSpace(must(t, "", "export", main+"/a", "--format", "json")); got != want {
			t.Errorf("beside %s: %s, want %s", rival, got, want)
		}
	}
}

// TestIcechunkTogether has two programs append to the arrays of a group while a third one
// compacts them.
func TestIcechunkTogether(t *testing.T) {
	dir := filepath.ToSlash(filepath.Join(t.TempDir(), "repo"))
	must(t, "", "icechunk", "init", dir)
	main := "icechunk+file://" + dir + "@main"
	for _, name := range []string{"a", "b"} {
		do(t, "", "create", main+"/"+name, "--shape", "0", "--dtype", "int16", "--chunks", "[[2]]", "--dimension-names", "x")
	}
	const rounds = 6
	var all sync.WaitGroup
	for k := range 2 {
		all.Go(func() {
			for i := range rounds {
				file := filepath.Join(t.TempDir(), fmt.Sprintf("%d-%d.json", k, i))
				if err := os.WriteFile(file, fmt.Appendf(nil, "[%d,%d]", 100*k+2*i, 100*k+2*i+1), 0o600); err != nil {
					t.Error(err)
				}
				if _, errs, status := execute(t, "", "append", main, "a="+file, "b="+file, "--format", "json", "-m", fmt.Sprint(k, i)); status != 0 {
					t.Error(errs)
				}
			}
		})
	}
	all.Go(func() {
		for range rounds {
			if _, errs, status := execute(t, "", "compact", main, "--axis", "x", "--to", "max:8"); status != 0 {
				t.Error(errs)
			}
		}
	})
	all.Wait()
	var values [2][]int
	for i, name := range []string{"a", "b"} {
		if err := json.Unmarshal([]byte(must(t, "", "export", main+"/"+name, "--format", "json")), &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(values[0], values[1]) || len(values[0]) != 4*rounds {
		t.Errorf("%v and %v", values[0], values[1])
	}
	for k := range 2 {
		var own []int
		for _, v := range values[0] {
			if v/100 == k {
				own = append(own, v)
			}
		}
		if !slices.IsSorted(own) || len(own) != 2*rounds {
			t.Errorf("program %d: %v", k, own)
		}
	}
	must(t, "", "check", main)
}

// TestIcechunkBy appends to both arrays of a group by a coordinate while somebody else
// appends some of the same times: what is there is found anew.
func TestIcechunkBy(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	must(t, "", "icechunk", "init", dir+"/repo")
	main := "icechunk+file://" + dir + "/repo@main"
	do(t, "", "create", main, "--group")
	for _, name := range []string{"t", "time"} {
		do(t, "", "create", main+"/"+name, "--shape", "2", "--dtype", "int32", "--chunks", "[[2]]", "--dimension-names", "time")
		do(t, "[1,2]", "write", main+"/"+name, "--format", "json")
	}
	file := func(name, text string) string {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	first, second := file("a.json", "[3,4]"), file("b.json", "[4,5]")
	others := []string{" < append " + main + " time=" + first + " t=" + first + " --by time"}
	out, errs, status := rivalled(t, "[7,8]", others, "append", main, "time="+second, "t=-", "--format", "json", "--by", "time", "--on-duplicate", "skip")
	if status != 0 || !strings.Contains(errs, "begins again") || !strings.Contains(out, "1 appended") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	for name, want := range map[string]string{"time": "[1,2,3,4,5]", "t": "[1,2,3,4,8]"} {
		if got := strings.TrimSpace(must(t, "", "export", main+"/"+name, "--format", "json")); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestIcechunkAmend replaces the last commit by several commands. It never replaces the
// commit of somebody else that it has not seen.
func TestIcechunkAmend(t *testing.T) {
	dir, main := repositoryWithArray(t)
	log := func() (lines []string) {
		t.Helper()
		for line := range strings.Lines(must(t, "", "icechunk", "log", main)) {
			lines = append(lines, strings.TrimSpace(strings.SplitN(line, "Z  ", 2)[1]))
		}
		return lines[:len(lines)-1] // without the first one of all
	}
	wants := func(values string, messages ...string) {
		t.Helper()
		if got := log(); !slices.Equal(got, messages) {
			t.Errorf("the log is %q, want %q", got, messages)
		}
		if got := strings.TrimSpace(must(t, "", "export", main+"/a", "--format", "json")); got != values {
			t.Errorf("%s, want %s", got, values)
		}
		must(t, "", "icechunk", "check", dir)
	}
	do(t, "[4]", "append", main+"/a", "--format", "json", "-m", "days", "--metadata", "author=ada")
	do(t, "[5]", "append", main+"/a", "--format", "json", "--amend")
	wants("[1,2,3,4,5]", "days  author=ada", "varve write", "varve create")
	do(t, "", "attrs", main+"/a", "set", "n", "1", "--amend", "--metadata", "author=bob")
	wants("[1,2,3,4,5]", "days  author=bob", "varve write", "varve create")
	do(t, "", "attrs", main+"/a", "set", "n", "1", "--amend", "-m", "all days")
	wants("[1,2,3,4,5]", "all days  author=bob", "varve write", "varve create")
	head := headOf(t, strings.TrimSuffix(dir, "/repo"))
	_, errs, status := execute(t, "", "attrs", main+"/a", "set", "n", "1", "--amend")
	if status != 0 || headOf(t, strings.TrimSuffix(dir, "/repo")) != head || !strings.Contains(errs, "nothing has changed") {
		t.Error(status, errs)
	}
	_, errs, status = rivalled(t, "[7]", []string{"[6] < append " + main + "/a --format json -m rival"}, "append", main+"/a", "--format", "json", "--amend")
	if status == 0 || !strings.Contains(errs, "--amend would replace that commit") || !strings.Contains(errs, "rival") {
		t.Error(status, errs)
	}
	wants("[1,2,3,4,5,6]", "rival", "all days  author=bob", "varve write", "varve create")
	// A rebase would find no conflict with this one.
	_, errs, status = rivalled(t, "[7]", []string{" < create " + main + "/g --group -m group"}, "append", main+"/a", "--format", "json", "--amend")
	if status == 0 || !strings.Contains(errs, "--amend would replace that commit") {
		t.Error(status, errs)
	}
	wants("[1,2,3,4,5,6]", "group", "rival", "all days  author=bob", "varve write", "varve create")
	must(t, "", "icechunk", "branch", dir, "new", "--at", icechunkFirst)
	if _, errs, status := execute(t, "", "create", strings.Replace(main, "@main", "@new", 1)+"/b", "--group", "--amend"); status == 0 || !strings.Contains(errs, "never amended: commit") {
		t.Error(status, errs)
	}
}

// icechunkFirst is the first snapshot of every repository.
const icechunkFirst = "1CECHNKREP0F1RSTCMT0"
