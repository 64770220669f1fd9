// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemarks checks that remarks are the same with and without --json.
func TestRemarks(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for name, flags := range map[string]string{"x": "", "packed": `{"scale_factor": 0.1, "_FillValue": -1}`, "same": ""} {
		// Elements go from same to packed, so both have one dimension.
		args := []string{"create", group + "/" + name, "--shape", "3", "--dtype", "int16", "--dimension-names", strings.Replace(name[:1], "s", "p", 1)}
		if flags != "" {
			args = append(args, "--attributes", flags)
		}
		must(t, "", args...)
	}
	must(t, "", "create", group+"/days", "--shape", "1", "--dtype", "datetime64[D]", "--dimension-names", "day")
	for _, c := range []struct{ args, want string }{
		{"create %s/y --shape 4 --dtype int8 --dimension-names x --overwrite", `dimension "x" has length 3 in x and length 4 in y`},
		{"create %s/z --shape 4 --dtype int8 --overwrite", "no dimension names, and other arrays of its group have some"},
		{"write %s/packed %s/same", "stored unchanged as packed ones"},
		{"append %s/packed %s/same --alone", "stored unchanged as packed ones"},
		{"resize %s p=20", "new elements are the fill value 0"},
		{"write %s/days --value 2024 --yes", "--value 2024 counts units of the type, so it means 1975-07-18; for the beginning of the year give --value 2024-01-01"},
		{"create %s/d --shape 1 --dtype datetime64[Y] --fill 2020 --dimension-names d --overwrite", "so it means 3990"},
	} {
		text := strings.ReplaceAll(c.args, "%s", group)
		_, errs, status := execute(t, "", strings.Fields(text)...)
		if status != 0 || !strings.HasPrefix(errs, "note: ") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s", c.args, status, errs)
		}
		if strings.HasPrefix(c.args, "resize") {
			text = strings.Replace(text, "=20", "=30", 1)
		}
		out, errs, status := execute(t, "", append(strings.Fields(text), "--json")...)
		if status != 0 || errs != "" || !strings.Contains(fmt.Sprint(decode(t, out)["notes"]), c.want) {
			t.Errorf("%s --json: status %d, %s%s", c.args, status, out, errs)
		}
	}
	for _, value := range []string{"2024-05", `"2024"`, "20240", "NaT"} {
		must(t, "", "write", group+"/days", "--value", value, "--yes") // nothing to tell
	}
}

// TestNotesOfFiles checks the notes about folders with names of files, and about tables
// with packed numbers.
func TestNotesOfFiles(t *testing.T) {
	dir := t.TempDir()
	node := dir + "/g.zarr/t"
	must(t, "", "create", node, "--shape", "2", "--dtype", "int16", "--dimension-names", "x", "--attributes", `{"scale_factor": 0.5}`)
	const folder, packed = "it is a folder with a Zarr node", "--decode applies scale_factor 0.5 and add_offset 0"
	for _, c := range []struct{ args, want string }{
		{"copy " + node + " " + dir + "/x.nc", folder}, {"convert " + node + " " + dir + "/x.npy --to 2", folder},
		{"create " + dir + "/x.h5 --shape 1 --dtype int8", folder}, {"copy " + node + " " + dir + "/x.zip", ""}, {"copy " + node + " " + dir + "/x", ""},
		{"export " + node + " --header --format csv", packed}, {"export " + node + " --header --format csv --decode", ""}, {"export " + node + " --format csv", ""},
	} {
		_, errs, status := execute(t, "", strings.Fields(c.args)...)
		if status != 0 || (errs == "") != (c.want == "") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s", c.args, status, errs)
		}
	}
}

// TestUnlockFormat2 checks that the message names the node to convert first.
func TestUnlockFormat2(t *testing.T) {
	group := newNode(t, "--group", "--zarr-format", "2")
	must(t, "", "create", group+"/a", "--shape", "2", "--dtype", "int8")
	for _, node := range []string{group + "/a", group} {
		if _, errs, status := execute(t, "", "unlock", node); status != 1 || !strings.Contains(errs, "varve convert "+group+" --to 3") {
			t.Errorf("%s: status %d, %s", node, status, errs)
		}
	}
	must(t, "", "convert", group, "--to", "3")
	must(t, "", "unlock", group+"/a")
}
