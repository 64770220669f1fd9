// SPDX-License-Identifier: Apache-2.0

package flagtext

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// ParseDuration parses a duration of 0 or more: as Go has them, such as 90s or 1h30m, or
// with days and weeks, such as 7d, 2w or 1d12h. A day has 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = wholeDays(text)
	}
	if err != nil && strings.TrimSpace(text) != "" {
		var n float64
		if n, err = cf.ParseDuration(text); err == nil && math.Abs(n) >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is longer than 292 years", phrase.Shorten(text, 40))
		}
		d = time.Duration(math.Round(n))
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 30s, 15m, 6h, 7d or 2w", phrase.Shorten(text, 40))
	case d < 0:
		return 0, fmt.Errorf("%q is negative: want 0 or more", phrase.Shorten(text, 40))
	}
	return d, nil
}

var daysAndRest = regexp.MustCompile(`^(?:(\d{1,5})w)?(?:(\d{1,6})d)?(.*)$`)

// wholeDays parses whole weeks and days before a duration of Go. It is exact, where a
// float64 has no nanoseconds beyond 104 days.
func wholeDays(text string) (time.Duration, error) {
	m := daysAndRest.FindStringSubmatch(text)
	weeks, _ := strconv.Atoi(cmp.Or(m[1], "0"))
	days, _ := strconv.Atoi(cmp.Or(m[2], "0"))
	rest, err := time.ParseDuration(cmp.Or(m[3], "0s"))
	const day = 24 * time.Hour
	if n := 7*weeks + days; err != nil || n == 0 || rest < 0 || rest > day || n >= int(math.MaxInt64/day) {
		return 0, errors.Join(err, errNoWholeDays)
	}
	return time.Duration(7*weeks+days)*day + rest, nil
}

var errNoWholeDays = errors.New("no whole days")

// duration is the value of a flag for a duration.
type duration struct{ d *time.Duration }

func (v *duration) Set(text string) error {
	d, err := ParseDuration(text)
	if err == nil {
		*v.d = d
	}
	return err
}

func (v *duration) Type() string { return "duration" }

// String returns "" for the zero value, on which pflag calls it.
func (v *duration) String() string {
	if v.d == nil || *v.d == 0 {
		return ""
	}
	return phrase.Duration(*v.d)
}

// Duration defines a flag for a duration. An initial 0 is not shown in the help.
func Duration(f *pflag.FlagSet, p *time.Duration, name string, initial time.Duration, usage string) {
	*p = initial
	f.Var(&duration{p}, name, usage)
}
