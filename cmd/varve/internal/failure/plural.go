// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"regexp"
	"strings"
)

// The library writes numbers into messages that hardly anybody sees with a one: "section
// 7 has 12 bytes, want 16". So nouns and verbs behind a 1 get their singular here, and
// the library needs no function for each number.

// nouns are the plurals that follow numbers in messages.
var nouns = strings.Fields(`arrays attempts attributes axes bits blocks booleans bytes cells chunks codecs columns conditions coordinates datatypes degrees
	digits dimensions documents edges elements entries errors factors faults fields files filters grids groups hours images indices integers jobs kinds lengths
	letters levels links lists members messages minutes months names nanoseconds nodes notes numbers objects offsets options orders parallels parameters parts
	pieces planes points policies rechunks records redirections references rows runs samples scans segments sets shards slots sources stages steps streams
	strides tasks tiles times tries values words deletions others plans writers writes`)

// one matches a 1 that is a number of things, with the noun, and the verb behind it. The
// 1 is not the end of another number, such as 1,001 or 0.1.
var one = regexp.MustCompile(`(^|[^\w.,:/+-])1 ((?:code|data|deflated|dimension|empty|encoded|growth|hexadecimal|inner|more|new|other|shrink|stored|superfluous) )?(` +
	strings.Join(nouns, "|") + `)\b( are| cannot| differ| do| encode| fill| follow| have| leave| need| stand| take| were)?\b`)

// irregular are the singulars that are not the plural without its s, also of verbs.
var irregular = map[string]string{
	"axes": "axis", "entries": "entry", "indices": "index", "policies": "policy", "tries": "try",
	" are": " is", " cannot": " cannot", " do": " does", " have": " has", " were": " was", "": "",
}

// singular returns a message with the singular of what there is one of.
func singular(text string) string {
	return one.ReplaceAllStringFunc(text, func(found string) string {
		m := one.FindStringSubmatch(found)
		noun, isIrregular := irregular[m[3]]
		if !isIrregular {
			noun = strings.TrimSuffix(m[3], "s")
		}
		verb, isIrregular := irregular[m[4]]
		if !isIrregular {
			verb = m[4] + "s"
		}
		return m[1] + "1 " + m[2] + noun + verb
	})
}
