// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/byteorder"
)

// TestMomentsAsNumPy compares the text of moments with that of NumPy, and reads it back.
func TestMomentsAsNumPy(t *testing.T) {
	table, err := os.ReadFile("testdata/moments.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(table)) {
		var step, want string
		var n int64
		if _, err := fmt.Sscan(line, &step, &n, &want); err != nil {
			t.Fatal(err)
		}
		typ, _, err := FromNumPy("<M8[" + step + "]")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(typ.AppendText(nil, elem(n))); got != want {
			t.Errorf("%d of %s is %s, NumPy has %s", n, typ, got, want)
		}
		// Without quotes a year alone would be a number of steps.
		back, err := typ.ParseText(`"` + want + `"`)
		if err != nil || int64(byteorder.Load(back)) != n {
			t.Errorf("%s of %s is %x, want %d: %v", want, typ, back, n, err)
		}
		seen[typ.Step().Unit]++
	}
	if len(seen) != len(units)-1 {
		t.Errorf("units %v", seen)
	}
}

// ticks has the length of each unit in seconds.
var ticks = map[string]*big.Rat{
	"W": big.NewRat(7*86400, 1), "D": big.NewRat(86400, 1), "h": big.NewRat(3600, 1), "m": big.NewRat(60, 1), "s": big.NewRat(1, 1),
	"ms": big.NewRat(1, 1e3), "us": big.NewRat(1, 1e6), "ns": big.NewRat(1, 1e9), "ps": big.NewRat(1, 1e12), "fs": big.NewRat(1, 1e15), "as": big.NewRat(1, 1e18),
}

// floor returns the greatest integer not above x.
func floor(x *big.Rat) *big.Int {
	q, r := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	_ = r // DivMod is Euclidean, and the denominator positive
	return q
}

// drawTimed draws a type and a number. It prefers numbers at the ends of the range.
func drawTimed(t *rapid.T, of func(string, int) (Type, error)) (Type, int64) {
	unit := rapid.SampledFrom(units[:]).Draw(t, "unit")
	factor := rapid.OneOf(rapid.Just(1), rapid.IntRange(1, math.MaxInt32), rapid.SampledFrom([]int{7, 10, 60, 400, 86400, math.MaxInt32})).Draw(t, "factor")
	typ, err := of(unit, factor)
	if err != nil {
		t.Fatal(err)
	}
	near := rapid.Int64Range(-1000, 1000)
	n := rapid.OneOf(rapid.Int64(), near, rapid.Int64Range(-1<<40, 1<<40), rapid.SampledFrom([]int64{NaT, NaT + 1, math.MaxInt64, 0, -1})).Draw(t, "n")
	return typ, n
}

// TestMoments compares moments with exact arithmetic, for every unit and any factor, and
// converts them back.
func TestMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, n := drawTimed(t, DatetimeOf)
		got, ok := typ.Moment(n)
		s := typ.Step()
		if n == NaT || s.Unit == "generic" {
			if ok {
				t.Fatalf("%d of %s is %v", n, typ, got)
			}
			return
		}
		count := new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(s.Factor)))
		if s.isMonths() {
			if s.Unit == "Y" {
				count.Mul(count, big.NewInt(12))
			}
			within := count.CmpAbs(big.NewInt(12*200_000_000)) <= 0
			year, month := new(big.Int).DivMod(count, big.NewInt(12), new(big.Int))
			if ok != within || ok && (int64(got.Year())-1970 != year.Int64() || int64(got.Month())-1 != month.Int64() || got.Day() != 1) {
				t.Fatalf("%d of %s is %v, %v; want %v years, %v months", n, typ, got, ok, year, month)
			}
		} else {
			seconds := new(big.Rat).Mul(new(big.Rat).SetInt(count), ticks[s.Unit])
			whole := floor(seconds)
			within := whole.CmpAbs(big.NewInt(mostSeconds)) <= 0
			rest := new(big.Rat).Sub(seconds, new(big.Rat).SetInt(whole))
			nano := floor(rest.Mul(rest, big.NewRat(1e9, 1))).Int64()
			if ok != within || ok && (got.Unix() != whole.Int64() || int64(got.Nanosecond()) != nano) {
				t.Fatalf("%d of %s is %v, %v; want %v s and %d ns", n, typ, got, ok, whole, nano)
			}
		}
		if back, fits := typ.NumberOf(got); ok && s.perSecond() <= 1e9 && (!fits || back != n) {
			t.Fatalf("%d of %s is %v, which is %d, %v", n, typ, got, back, fits)
		}
	})
}

// TestNumberOf checks that times are rounded down to a step.
func TestNumberOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, _ := drawTimed(t, DatetimeOf)
		s := typ.Step()
		at := time.Unix(rapid.OneOf(rapid.Int64Range(-1<<53, 1<<53), rapid.Int64Range(-1<<33, 1<<33)).Draw(t, "seconds"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(time.FixedZone("", 3600))
		got, ok := typ.NumberOf(at)
		if s.Unit == "generic" {
			if ok {
				t.Fatal("a generic unit has no times")
			}
			return
		}
		var want *big.Int
		if s.isMonths() {
			utc := at.UTC()
			months := big.NewRat(int64(utc.Year()-1970)*12+int64(utc.Month())-1, s.seconds()*int64(s.Factor))
			want = floor(months)
		} else {
			x := new(big.Rat).SetFrac(new(big.Int).Add(new(big.Int).Mul(big.NewInt(at.Unix()), big.NewInt(1e9)), big.NewInt(int64(at.Nanosecond()))), big.NewInt(1e9))
			want = floor(x.Quo(x, new(big.Rat).Mul(ticks[s.Unit], big.NewRat(int64(s.Factor), 1))))
		}
		if fits := want.IsInt64() && want.Int64() != NaT; ok && (!fits || got != want.Int64()) || !ok && fits {
			t.Fatalf("%v is %d of %s, %v; want %v", at, got, typ, ok, want)
		}
	})
}

// TestDurations compares durations with exact arithmetic, both ways.
func TestDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, n := drawTimed(t, TimedeltaOf)
		s := typ.Step()
		got, ok := typ.Duration(n)
		if n == NaT || s.isMonths() || s.Unit == "generic" {
			if ok {
				t.Fatalf("%d of %s is %v", n, typ, got)
			}
			return
		}
		// Nanoseconds per step.
		one := new(big.Rat).Mul(new(big.Rat).Mul(ticks[s.Unit], big.NewRat(int64(s.Factor), 1)), big.NewRat(1e9, 1))
		want := new(big.Rat).Mul(one, new(big.Rat).SetInt64(n))
		if fits := want.IsInt() && want.Num().IsInt64(); ok != fits || ok && int64(got) != want.Num().Int64() {
			t.Fatalf("%d of %s is %d ns, %v; want %v", n, typ, got, ok, want)
		}
		if back, fits := typ.NumberOfDuration(got); ok && (!fits || back != n) {
			t.Fatalf("%d of %s is %v, which is %d, %v", n, typ, got, back, fits)
		}
		d := time.Duration(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1e12, 1e12)).Draw(t, "d"))
		number, ok := typ.NumberOfDuration(d)
		exact := new(big.Rat).Quo(new(big.Rat).SetInt64(int64(d)), one)
		if fits := exact.IsInt() && exact.Num().IsInt64() && exact.Num().Int64() != NaT; ok && (!fits || number != exact.Num().Int64()) || !ok && fits {
			t.Fatalf("%v is %d of %s, %v; want %v", d, number, typ, ok, exact)
		}
	})
}

// TestLeastDuration converts the duration whose nanoseconds are the number of NaT.
func TestLeastDuration(t *testing.T) {
	typ, err := TimedeltaOf("ns", 1)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := typ.NumberOfDuration(math.MinInt64); ok {
		t.Errorf("it is %d, which is NaT", n)
	}
	if n, ok := typ.NumberOfDuration(math.MinInt64 + 1); !ok || n != math.MinInt64+1 {
		t.Errorf("the next one is %d, %v", n, ok)
	}
}

// TestTimedText checks that every text that is written is read back, also at the ends of
// the range.
func TestTimedText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := DatetimeOf
		if rapid.Bool().Draw(t, "duration") {
			of = TimedeltaOf
		}
		typ, n := drawTimed(t, of)
		checkRoundTrip(t, typ, elem(n))
	})
}

// Two thousand million months are more than an int of 32 bits holds.
func TestDistantMonths(t *testing.T) {
	for n, want := range map[int64]int{1<<31 + 1: 178_958_940, -1<<31 - 8: -178_955_002} {
		if got, ok := mustType(DatetimeOf("M", 1)).Moment(n); !ok || got.Year() != want {
			t.Errorf("month %d is in year %d, %v; want %d", n, got.Year(), ok, want)
		}
	}
}

func TestMomentText(t *testing.T) {
	day, second, month := mustType(DatetimeOf("D", 1)), mustType(DatetimeOf("s", 1)), mustType(DatetimeOf("M", 1))
	for _, tt := range []struct {
		typ  Type
		text string
		want int64
	}{
		{day, "1970-01-01", 0}, {day, "2000-02-29", 11016}, {day, "1900-03-01", -25508}, {day, "2024-02-29T00:00", 19782}, {day, "NaT", NaT}, {day, "19782 D", 19782},
		{day, `"NaT"`, NaT}, {day, `"2000-02-29"`, 11016}, {second, ` "2024-02-29 12:34:56" `, 1709210096}, {day, `"2024"`, 19723}, {day, "-0001-01-01", -719893}, {day, "10000-01-01", 2932897}, {day, "2024", 2024}, {day, " -5 ", -5}, {day, "1577836800", 1577836800}, {day, "1e3", 1000}, {day, `"-0001"`, -719893}, {mustType(DatetimeOf("generic", 1)), "2024", 2024}, {day, "2024-03", 19783},
		{second, "2024-02-29 12:34:56", 1709210096}, {second, "2024-02-29T12:34Z", 1709210040}, {second, "1969-12-31T23:59:59", -1}, {month, "1969-12", -1}, {month, "1969-12-01", -1},
	} {
		if got, err := tt.typ.ParseText(tt.text); err != nil || int64(byteorder.Load(got)) != tt.want {
			t.Errorf("%s: %q is %x, want %d: %v", tt.typ, tt.text, got, tt.want, err)
		}
	}
	for typ, texts := range map[Type][]string{
		day:                                {"2023-02-29", "1900-02-29", "2024-02-30", "2024-13-01", "2024-02-29T12:00", "yesterday", "", "2024-2-9", "9223372036854775808", `"2024-02-30"`, `"2024-02-29`, `""2024-02-29""`, `"`},
		second:                             {"2024-02-29T12:34:56.5", "2024-02-29T24:00", "2024-02-29T12:34:60", "2024-02-29T12:34:56+01:00"},
		month:                              {"2024-02-29"},
		mustType(DatetimeOf("generic", 1)): {"2024-02-29", `"2024"`},
	} {
		for _, text := range texts {
			if got, err := typ.ParseText(text); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %q is taken for %x: %v", typ, text, got, err)
			}
		}
	}
}

func mustType(t Type, err error) Type {
	if err != nil {
		panic(err)
	}
	return t
}

func TestTimedOfRefuses(t *testing.T) {
	large := int64(math.MaxInt32) + 1 // becomes negative where an int has 32 bits
	for _, of := range []func(string, int) (Type, error){DatetimeOf, TimedeltaOf} {
		for unit, factor := range map[string]int{"": 1, "S": 1, "minute": 1, "s": 0, "ms": -1, "us": int(large), "ns ": 1} {
			if typ, err := of(unit, factor); !errors.Is(err, ErrInvalid) || !typ.IsZero() {
				t.Errorf("%d %q is %s: %v", factor, unit, typ, err)
			}
		}
	}
	if mustType(DatetimeOf("μs", 3)) != mustType(DatetimeOf("us", 3)) || mustType(DatetimeOf("µs", 1)) != mustType(DatetimeOf("us", 1)) {
		t.Error("the sign for micro makes another type")
	}
}
