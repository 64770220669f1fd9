package crash_test

import (
	"os"
	"strconv"
	"testing"
)

// soaked returns how much a soak test is to do: a little in the quick tests, and with
// VARVE_SOAK=1 all of it; VARVE_SOAK=3 is three times all, and VARVE_SOAK=0.1 a tenth.
func soaked(t testing.TB, quick, all int) int {
	t.Helper()
	text := os.Getenv("VARVE_SOAK")
	if text == "" {
		return quick
	}
	times, err := strconv.ParseFloat(text, 64)
	if err != nil || times <= 0 || times > 1e6 {
		t.Fatalf("VARVE_SOAK is %q, want a number above 0", text)
	}
	return max(quick, int(times*float64(all)))
}
