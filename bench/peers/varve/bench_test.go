// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"testing"

	"varve.dev/zarr/bench/protocol"
)

// BenchmarkWork does the work of the request in VARVE_REQUEST, so that it can be
// profiled:
//
//	VARVE_REQUEST='{"work":"read-all","store":"…"}' go test -run '^$' -bench Work -cpuprofile cpu.out
func BenchmarkWork(b *testing.B) {
	text := os.Getenv("VARVE_REQUEST")
	if text == "" {
		b.Skip("VARVE_REQUEST is not set")
	}
	var r protocol.Request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		a, err := works[r.Work](b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(a.Bytes)
	}
}
