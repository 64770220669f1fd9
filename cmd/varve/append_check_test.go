// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGroupAppendChecksFirst appends several files to the arrays of a group. One that
// does not fit is refused before any is appended, wherever it stands.
func TestGroupAppendChecksFirst(t *testing.T) {
	t.Chdir(foreign(t, "epochs_days_0[123].nc"))
	must(t, "", "copy", "epochs_days_01.nc", "g.zarr")
	two, err := os.ReadFile("epochs_days_02.nc")
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, "short.nc", string(two[:len(two)-100]))
	overwrite(t, "text.nc", "no such format")
	// Nodes in place of files: wide has another extent, typed another type, lone lacks an
	// array, and uneven has arrays of different lengths.
	for name, arrays := range map[string][2]string{"wide.zarr": {"28,9,5 float32", "28 float64"}, "typed.zarr": {"28,4,5 int8", "28 float64"}, "uneven.zarr": {"28,4,5 float32", "27 float64"}, "lone.zarr": {"28,4,5 float32", ""}} {
		must(t, "", "create", name, "--group")
		for i, array := range []string{"t", "time"} {
			if shape, typ, found := strings.Cut(arrays[i], " "); found {
				createNoted(t, name+"/"+array, "--shape", shape, "--dtype", typ, "--chunks", shape, "--dimension-names", []string{"time,y,x", "time"}[i])
			}
		}
	}
	for bad, words := range map[string]string{
		"short.nc": "it was cut off", "text.nc": "of no known format", "wide.zarr": "wide.zarr/t has shape [28 9 5]", "typed.zarr": "typed.zarr/t has elements of type int8",
		"lone.zarr": "lone.zarr/time", "uneven.zarr": `uneven.zarr/t: dimension "time" would grow by 28 in t and by 27 in time`,
	} {
		for _, line := range []string{
			"append g.zarr epochs_days_02.nc BAD epochs_days_03.nc", "append g.zarr epochs_days_02.nc epochs_days_03.nc BAD",
			"append g.zarr t=epochs_days_02.nc t=BAD/t time=epochs_days_02.nc time=BAD/time", "append g.zarr epochs_days_02.nc BAD --by time",
		} {
			_, errs, status := execute(t, "", strings.Fields(strings.ReplaceAll(line, "BAD", bad))...)
			if status != 1 || !strings.Contains(errs, words) || strings.Contains(errs, "appended") {
				t.Errorf("%s, %s: status %d, %s", line, bad, status, errs)
			}
		}
	}
	if out := must(t, "", "info", "g.zarr/time"); !strings.Contains(out, "shape       31 ") {
		t.Error(out)
	}
}

// goesOn matches the command that continues with the files that are left.
var goesOn = regexp.MustCompile(`and nothing of the others: varve (append .*?) continues with them`)

// TestAppendGoesOn appends files of which one has a damaged chunk, which only reading it
// finds. The message names the command that appends the others, once it is whole again.
func TestAppendGoesOn(t *testing.T) {
	t.Chdir(foreign(t, "epochs_days_0[123].nc"))
	must(t, "", "virtualize", "epochs_days_0[123].nc", "--concat", "time", "-o", "all.vz")
	must(t, "", "copy", "all.vz", "all.zarr")
	whole, err := os.ReadFile("epochs_days_03.nc")
	if err != nil {
		t.Fatal(err)
	}
	for line, of := range map[string]string{
		"append g.zarr epochs_days_02.nc epochs_days_03.nc":                                                   "the first of 2 files is already appended, up to epochs_days_02.nc,",
		"append g.zarr t=epochs_days_02.nc t=epochs_days_03.nc time=epochs_days_02.nc time=epochs_days_03.nc": "the first of 2 files of each array is already appended",
		"append g.zarr epochs_days_02.nc epochs_days_03.nc --expect 31":                                       "(with the same flags, but another --expect)",
		"append g.zarr/t epochs_days_02.nc epochs_days_03.nc --alone":                                         "continues with them (with the same flags)",
		"append g.zarr epochs_days_01.nc epochs_days_02.nc epochs_days_03.nc --by time --on-duplicate=skip":   "the first 2 of 3 files are already appended, up to epochs_days_02.nc,",
	} {
		overwrite(t, "epochs_days_03.nc", string(whole))
		must(t, "", "copy", "epochs_days_01.nc", "g.zarr", "--overwrite", "--yes")
		flipByte(t, "epochs_days_03.nc", "t")
		_, errs, status := execute(t, "", strings.Fields(line)...)
		found := goesOn.FindStringSubmatch(errs)
		if status != 1 || !strings.Contains(errs, of) || found == nil {
			t.Errorf("%s: status %d, %s", line, status, errs)
			continue
		}
		overwrite(t, "epochs_days_03.nc", string(whole))
		args := strings.Fields(found[1])
		if strings.HasSuffix(line, "--alone") {
			args = append(args, "--alone")
		}
		must(t, "", args...)
		must(t, "", "equal", "g.zarr/t", "all.zarr/t")
	}
}
