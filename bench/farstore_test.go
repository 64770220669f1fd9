// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		lengths   []int64
		n         int
		bandwidth float64
		want      float64
	}{
		{nil, 4, 100, 1},
		{[]int64{0, 0, 0, 0}, 2, 100, 1 + 2*0.5},              // two rounds of latency
		{[]int64{100, 100, 100, 100}, 4, 100, 1 + 0.5 + 4},    // the way is full
		{[]int64{100, 100}, 1, 100, 1 + 2*(0.5+1)},            // one after another
		{[]int64{100, 100, 100}, 2, 100, 1 + 0.5 + 1 + 1 + 1}, // the third waits for the way, not for latency
	} {
		if got := schedule(1, c.lengths, c.n, 0.5, c.bandwidth); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("schedule(%v, %d) = %v, want %v", c.lengths, c.n, got, c.want)
		}
	}
}

func TestFar(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c"), make([]byte, 1000), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := serve(dir, time.Millisecond, 1e9)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, part := range []string{"", "bytes=10-19"} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"c", nil)
		if part != "" {
			request.Header.Set("Range", part)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if requests, received := f.counts(); requests != 2 || received != 1010 {
		t.Errorf("%d requests, %d bytes, want 2 and 1010", requests, received)
	}
}
