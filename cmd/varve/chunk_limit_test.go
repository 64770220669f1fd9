// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestFitsLimit makes chunks that are larger than the limit, and checks that the smaller
// ones in the message work.
func TestFitsLimit(t *testing.T) {
	const day = "721,1440"
	node := newNode(t, "--shape", "90,"+day, "--dtype", "float32", "--chunks", "[[31,28,31],721,1440]")
	for _, c := range []struct{ want, args string }{
		{"274 × 721 × 1,440 elements would have 1.1 GiB, and a command holds chunks of at most 1.0 GiB: --grow fixed:31 ", "resize NODE --shape 364," + day},
		{"would have 253 MiB", "resize NODE --shape 364," + day + " --grow fixed:64 --limit 200MiB"},
		{"--grow fixed:16 ", "resize NODE --shape 364," + day + " --limit 100MiB"}, // of 64 MiB, since 31 days are too large
		{"--chunks 64MiB ", "create NODE/b --shape 365," + day + " --dtype float32 --chunks -1"},
		{"--chunks 1MiB ", "create NODE/b --shape 365," + day + " --dtype float32 --chunks [365,1,1440] --limit 1MiB"},
		{"an inner chunk", "create NODE/b --shape 365," + day + " --dtype float32 --shards -1 --chunks -1"},
		{"more than 8 EiB", "create NODE/b --shape 9223372036854775807,3 --dtype float32 --chunks -1"},
		{"its other axes are too long", "resize NODE --shape 91," + day + " --limit 1MiB"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "NODE", node))
		_, errs, status := execute(t, "", args...)
		if status != 1 || !strings.Contains(errs, c.want) || !strings.Contains(errs, "--limit SIZE") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
		if _, errs, _ := execute(t, "", append(args, "--json")...); !strings.Contains(errs, `"kind": "limit"`) {
			t.Error(errs)
		}
	}
	must(t, "", "resize", node, "--shape", "364,"+day, "--grow", "fixed:31")
	must(t, "", "resize", node, "--shape", "700,"+day, "--limit", "2GiB")
	must(t, "", "create", node+"2", "--shape", "365,"+day, "--dtype", "float32", "--chunks", "64MiB")
	must(t, "", "create", node+"3", "--shape", "365,"+day, "--dtype", "float32", "--chunks", "-1", "--limit", "2GiB")
}

// TestAppendsWithin appends more than one chunk may hold.
func TestAppendsWithin(t *testing.T) {
	node := newNode(t, "--shape", "4,2", "--dtype", "int8", "--chunks", "[[4],2]", "--limit", "8B")
	six := strings.Repeat("x", 12)
	if _, errs, status := execute(t, six, "append", node, "--limit", "8B"); status != 1 || !strings.Contains(errs, "--grow fixed:4 ") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, six, "append", node, "--limit", "8B", "--grow", "fixed:4")
	if got := chunkShapes(t, node); got != "[[[4,3]],2]" {
		t.Error(got)
	}
}
