// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// FlagError returns a plain message, with a hint if possible, for an error that package
// pflag reports.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := unknown.GetSpecifiedName()
		// In varve grid the two most similar flags mean something else than --chunks of
		// create.
		if name == "chunks" && cmd.Flags().Lookup("chunk-grid") != nil {
			return fmt.Errorf("%w (--chunk-grid takes the whole chunk grid as JSON, --chunk the index of one chunk)", err)
		}
		if slices.Contains([]string{"csv", "npy", "json", "raw"}, name) && cmd.Flags().Lookup("format") != nil {
			return fmt.Errorf("%w (did you mean --format %s?)", err, name)
		}
		// -5 was parsed as the short flag 5.
		if shorts := unknown.GetSpecifiedShortnames(); shorts != "" {
			return fmt.Errorf("%w%s", err, numberMeant(cmd, shorts))
		}
		return fmt.Errorf("%w%s", err, cmp.Or(flagSynonym(cmd, name), spelling.Meant("--"+name, known)))
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		value, _ := pflag.UnquoteUsage(missing.GetFlag())
		return fmt.Errorf("--%s needs a value: %s is missing", missing.GetFlag().Name, value)
	}
	var number *strconv.NumError
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	flag := value.GetFlag()
	// In --fill --chunks 3, package pflag takes --chunks as the value of --fill.
	if cmd.Flags().Lookup(strings.TrimPrefix(value.GetValue(), "--")) != nil && strings.HasPrefix(value.GetValue(), "--") {
		return fmt.Errorf("--%s needs a value, but %s follows it", flag.Name, value.GetValue())
	}
	switch {
	case errors.Is(err, errTwice) && flag.Name == "select":
		return fmt.Errorf("--select: %w: separate items by commas, as in time=0:10,lat=3", errTwice)
	case errors.Is(err, errTwice):
		return fmt.Errorf("--%s: %w", flag.Name, errTwice)
	case errors.As(err, &number) && flag.Value.Type() == "bool":
		return fmt.Errorf("--%s: %q is neither true nor false; --%s alone is true", flag.Name, value.GetValue(), flag.Name)
	case errors.As(err, &number) && flag.Name == "zarr-format":
		return fmt.Errorf("--%s: only 2 and 3 are known%s", flag.Name, spelling.Meant(value.GetValue(), []string{"2", "3"}))
	case errors.As(err, &number):
		return fmt.Errorf("--%s: %q is not a whole number, or too large", flag.Name, value.GetValue())
	}
	return fmt.Errorf("--%s %q: %w%s", flag.Name, phrase.Shorten(value.GetValue(), 200), value.Unwrap(), valueMeant(flag.Name, value.GetValue(), value.Unwrap()))
}

// unknownWay matches the error of package selection for an unknown kind of selection.
var unknownWay = regexp.MustCompile(`"(\w+)" is no way to select`)

// valueMeant returns a hint for a refused value of a flag: the word that may be meant. It
// is "" if err already has one.
func valueMeant(flag, value string, err error) string {
	way := unknownWay.FindStringSubmatch(err.Error())
	switch {
	case flag == "select" && way != nil:
		return spelling.Meant(way[1], []string{"basic", "orthogonal", "points", "blocks", "mask", "fields"})
	case flag == "calendar":
		return spelling.Meant(value, []string{"standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian"})
	case flag == session.ExperimentalFlag:
		return spelling.Meant(value, session.ExperimentNames())
	case flag == "codecs":
		return argument.CodecsMeant(value)
	case flag == "chunk-grid":
		return argument.ChunkGridMeant(value)
	case flag == "chunk-key-encoding":
		return spelling.Meant(value, []string{"default/", "default.", "v2.", "v2/"})
	case flag == "target" || flag == session.LimitFlag:
		return phrase.SizeMeant(value)
	}
	return ""
}
