// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Machine describes the machine, and what else it does, in a sentence.
func Machine() string {
	return fmt.Sprintf("%s, %d cores of %s, %s, with a load of %s at the beginning.",
		time.Now().Format("2006-01-02"), runtime.NumCPU(), Field("/proc/cpuinfo", "model name"), runtime.Version(), Load())
}

// Field returns the value of the first line of a file that begins with a name, or
// "unknown".
func Field(file, name string) string {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Load returns the mean number of running processes of the last minute.
func Load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(data), " ")
	return one
}

// Median returns the median of values, or 0 without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Ratios describes the ratios of two times of each round: their median, and the lowest
// and highest of the middle half.
func Ratios(of, to []float64) string {
	list := make([]float64, 0, len(of))
	for i := range of {
		if to[i] > 0 {
			list = append(list, of[i]/to[i])
		}
	}
	if len(list) == 0 {
		return "–"
	}
	slices.Sort(list)
	n := len(list)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", Median(list), list[n/4], list[n-1-n/4])
}
