// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/fixture"
)

// TestRandomFiles exports random groups of zarr-python: arrays of all types, with regular
// and listed chunks, shards, both formats, and attributes. The C libraries of the formats
// (through netCDF4, h5py and rasterio) and tifffile read the same values, types and
// attributes.
func TestRandomFiles(t *testing.T) {
	judgeNetCDF(t) // has the interpreter what it takes?
	dir, seed, count := t.TempDir(), "1", 25
	if n := fixture.Soaked(t, count, 1000); n > count {
		seed, count = strconv.FormatInt(time.Now().UnixNano(), 10), n
	}
	t.Logf("seed %s", seed)
	judge := func(work string) string {
		t.Helper()
		c := exec.Command(interpreter(t), "-W", "ignore", "randomfiles.py", work, dir, seed, strconv.Itoa(count))
		var messages strings.Builder
		c.Stderr = &messages
		out, err := c.Output()
		if err != nil {
			t.Fatalf("randomfiles.py %s: %v\n%s", work, err, messages.String())
		}
		return string(out)
	}
	varve, files := commandOf(t, dir), 0
	for line := range strings.Lines(judge("write")) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		varve("export", f[0], "--format", f[1], "-o", f[2])
		files++
	}
	if read := strings.TrimSpace(judge("read")); read != strconv.Itoa(files) || files < 2*count {
		t.Errorf("read %s of %d files", read, files)
	}
}
