// SPDX-License-Identifier: Apache-2.0

package flagtext

import (
	"fmt"
	"math"
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
