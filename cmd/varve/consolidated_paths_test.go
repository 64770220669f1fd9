// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTreeRefused uses a group whose consolidated metadata has an entry that leads out of
// it. tree must print the other entries and then fail with its name; consolidate repairs
// the group.
func TestTreeRefused(t *testing.T) {
	group := consolidatedGroup(t)
	sound := must(t, "", "tree", group)
	file := filepath.Join(group, "zarr.json")
	document, err := os.ReadFile(file)
	if err == nil {
		bad := strings.Replace(string(document), `"metadata": {`, `"metadata": {"../b": {"zarr_format": 3, "node_type": "group"},`, 1)
		err = os.WriteFile(file, []byte(bad), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, errs, status := execute(t, "", "tree", group)
	if out != sound || status == 0 || !strings.Contains(errs, "..~1b") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	if out := must(t, "", "consolidate", group); !strings.Contains(out, "  gone     ../b\n") {
		t.Error(out)
	}
	if out := must(t, "", "tree", group); out != sound {
		t.Error(out)
	}
}
