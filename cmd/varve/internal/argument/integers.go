// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
)

// ParseIntegers parses whole numbers separated by commas. The empty text is an empty
// list: the shape and the index of an array of rank 0.
func ParseIntegers(text string) ([]int64, error) {
	numbers := []int64{}
	if strings.TrimSpace(text) == "" {
		return numbers, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil && strings.TrimSpace(part) == "" {
			return nil, errors.New("a number is missing beside a comma; write lists without spaces, such as 60,100")
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number of 64 bits%s", part, ListMeant(text))
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// ListMeant returns a hint for a text that is not a list of whole numbers, such as 3x4,
// (3, 4), 1_000 or 1e3.
func ListMeant(text string) string {
	plain := strings.Trim(text, "[]() ")
	plain = strings.TrimRight(plain, ",")
	plain = strings.ReplaceAll(plain, "_", "")
	plain = strings.NewReplacer("x", ",", "X", ",", "×", ",", "*", ",", ";", ",").Replace(plain)
	plain = strings.Join(strings.FieldsFunc(plain, func(r rune) bool { return r == ',' || r == ' ' }), ",")
	// In Python, 1e3 and 10.0 may stand for whole numbers.
	if x, err := strconv.ParseFloat(plain, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		plain = strconv.FormatInt(int64(x), 10)
	}
	for part := range strings.SplitSeq(plain, ",") {
		if _, err := strconv.ParseInt(part, 10, 64); err != nil {
			return ""
		}
	}
	if plain == text {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", plain)
}

// ParseShape parses lengths: whole numbers of at least 0.
func ParseShape(text string) ([]int64, error) {
	shape, err := ParseIntegers(text)
	for _, n := range shape {
		if n < 0 {
			return nil, fmt.Errorf("\"%d\" is less than 0", n)
		}
	}
	return shape, err
}

// ShapeFlag adds the flag --shape to a command.
func ShapeFlag(cmd *cobra.Command, p *string, usage string) {
	flagtext.Var(cmd.Flags(), p, "shape", "", usage, flagtext.Syntax(ParseShape))
}

// FileName checks the name of a file.
func FileName(file string) error { return flagtext.Needed("the name of a file")(file) }
