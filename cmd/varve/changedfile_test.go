// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// scansAgain matches the command that scans a changed file again.
var scansAgain = regexp.MustCompile(`varve (virtualize \S+ --append -o \S+) scans it again`)

// replaceFile replaces a file by the bytes of another one, with another time.
func replaceFile(t *testing.T, name, by string) {
	t.Helper()
	b, err := os.ReadFile(by)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, name, string(b))
	if err := os.Chtimes(name, time.Time{}, time.Unix(1<<30, 0)); err != nil {
		t.Fatal(err)
	}
}

// TestChangedFile changes a file that a manifest leads to. Every command that reads it
// names the file as it can be found from here, and the command that helps.
func TestChangedFile(t *testing.T) {
	dir := foreign(t, "epochs_days_0[123].nc")
	t.Chdir(dir)
	if err := os.Mkdir("in", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"epochs_days_01.nc", "epochs_days_02.nc", "epochs_days_03.nc"} {
		replaceFile(t, "in/"+name, name)
	}
	must(t, "", "virtualize", "in/epochs_days_0[123].nc", "--concat", "time", "-o", "in/x.vz")
	must(t, "", "virtualize", "in/epochs_days_02.nc", "-o", "in/x.json")
	for _, here := range []string{dir, dir + "/in"} {
		t.Chdir(here)
		at := map[bool]string{true: "in/", false: ""}[here == dir]
		for _, line := range []string{"cat x.vz/t --select 40", "export x.vz/t --format json", "copy x.vz c.zarr", "materialize x.vz c.zarr", "rechunk x.vz/t r.zarr --chunks 7,4,5", "create n.zarr --from x.vz/t"} {
			replaceFile(t, at+"epochs_days_02.nc", dir+"/epochs_days_02.nc")
			must(t, "", "virtualize", at+"epochs_days_02.nc", "--append", "-o", at+"x.vz")
			replaceFile(t, at+"epochs_days_02.nc", dir+"/epochs_days_01.nc")
			args := strings.Fields(strings.ReplaceAll(line, "x.vz", at+"x.vz"))
			_, errs, status := execute(t, "", args...)
			found := scansAgain.FindStringSubmatch(errs)
			if status != 1 || !strings.Contains(errs, " "+at+"epochs_days_02.nc: the source has changed") || found == nil {
				t.Errorf("varve %q: status %d, %s", args, status, errs)
				continue
			}
			out := must(t, "", strings.Fields(found[1])...)
			if !strings.HasPrefix(out, at+"x.vz  3 files scanned again, ") || !strings.Contains(out, at+"epochs_days_02.nc has changed since the manifest was made, so all files were scanned again") || !strings.Contains(out, "93 × 4 × 5") {
				t.Error(out)
			}
			must(t, "", args...)
			if out, _, _ := execute(t, "", "check", at+"x.vz"); !strings.Contains(out, "4 stored chunks") || strings.Contains(out, "changed") {
				t.Error(out)
			}
			for _, made := range []string{"c.zarr", "r.zarr", "n.zarr"} {
				if err := os.RemoveAll(made); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Chdir(dir)
	// New files beside those that are scanned again count on their own.
	replaceFile(t, "in/more.nc", dir+"/epochs_days_01.nc")
	replaceFile(t, "in/epochs_days_02.nc", dir+"/epochs_days_02.nc")
	out := must(t, "", "virtualize", "in/epochs_days_02.nc", "in/more.nc", "--append", "-o", "in/x.vz", "--dry-run", "--json")
	if facts := decode(t, out); facts["files"] != 1.0 || facts["files_scanned_again"] != 3.0 {
		t.Error(out)
	}
	if err := os.Remove("in/epochs_days_02.nc"); err != nil {
		t.Fatal(err)
	}
	refuses(t, "in/epochs_days_02.nc: the source has changed since it was scanned: it is not there any more; put it back", "cat", "in/x.json/t")
	replaceFile(t, "in/epochs_days_02.nc", "epochs_days_01.nc")
	// What the changes have replaced goes with a vacuum, and nothing else.
	want := must(t, "", "export", "in/x.vz/t", "--format", "json")
	must(t, "", "vacuum", "in/x.vz", "--grace", "0s", "--yes")
	if got := must(t, "", "export", "in/x.vz/t", "--format", "json"); got != want {
		t.Error("other elements after the vacuum")
	}
	if out := must(t, "", "vacuum", "in/x.vz", "--grace", "0s", "--yes"); !strings.Contains(out, "nothing") && strings.Contains(out, "superseded") {
		t.Error(out)
	}
}

// TestCheckNamesEveryFile checks a manifest with several files that are gone or changed:
// each is named once for an array, and the others are checked.
func TestCheckNamesEveryFile(t *testing.T) {
	t.Chdir(foreign(t, "runs_of_ten_0[123].nc"))
	must(t, "", "virtualize", "runs_of_ten_0[123].nc", "--concat", "time", "-o", "x.vz")
	if err := os.Remove("runs_of_ten_01.nc"); err != nil {
		t.Fatal(err)
	}
	replaceFile(t, "runs_of_ten_03.nc", "runs_of_ten_02.nc")
	out, errs, status := execute(t, "", "check", "x.vz")
	if status != 1 || strings.Count(out, "runs_of_ten_01.nc: the source has changed since it was scanned: it is not there any more; put it back\n") != 1 ||
		strings.Count(out, "; varve virtualize runs_of_ten_03.nc --append -o x.vz scans it again\n") != 1 || strings.Contains(out, "runs_of_ten_02.nc") || !strings.Contains(out, "10 stored chunks") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if out, _, _ := execute(t, "", "check", "x.vz", "--json"); !strings.Contains(out, "put the file back as it was, or scan it again") || !strings.Contains(out, `"source-changed"`) {
		t.Error(out)
	}
}
