// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestEstimate says how long a plan takes, from what varve bench has measured, and in how
// many workers.
func TestEstimate(t *testing.T) {
	node, file := monthly(t), filepath.Join(t.TempDir(), "bench.json")
	must(t, numbers(0, 6000), "write", node, "--format", "json", "--select", "")
	measured := must(t, "", "bench", node, "--seconds", "0.1", "--json")
	overwrite(t, file, measured)
	encoding := decode(t, measured)["encoding"].(map[string]any)
	if encoding["bytes"].(float64) <= 0 || encoding["bytes_per_second"].(float64) <= 0 {
		t.Errorf("%v", encoding)
	}
	args := []string{"rechunk", node, "--chunks", "12,12", "--dry-run", "--measured", file}
	if out := must(t, "", args...); !strings.Contains(out, "time: at least") {
		t.Error(out)
	}
	plan := decode(t, must(t, "", append(args, "--json")...))
	one := plan["estimate"].(map[string]any)
	sum := one["seconds_read"].(float64) + one["seconds_encode"].(float64) + one["seconds_copy"].(float64)
	if one["workers"] != 1.0 || math.Abs(one["seconds"].(float64)-sum) > 1e-12 || sum <= 0 {
		t.Errorf("%v", one)
	}
	// No more workers are busy than there are tasks.
	tasks := plan["stages"].([]any)[0].(map[string]any)["tasks"].(float64)
	for _, workers := range []float64{1, 2, 1000} {
		out := decode(t, must(t, "", append(args, "--json", "--workers", fmt.Sprint(workers))...))
		if got, want := out["estimate"].(map[string]any)["seconds"].(float64), sum/min(workers, tasks); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v workers, %v tasks: %v s, want %v", workers, tasks, got, want)
		}
	}
	overwrite(t, file, `{"path":"x"}`)
	refuses(t, "varve bench", args...)
	for words, more := range map[string][]string{"needs --measured": {"--workers", "3"}, "at least 1": {"--measured", file, "--workers", "0"}} {
		if _, errs, status := execute(t, "", append([]string{"rechunk", node, "--chunks", "12,12", "--dry-run"}, more...)...); status != 2 || !strings.Contains(errs, words) {
			t.Errorf("%q: status %d, %s", more, status, errs)
		}
	}
}
