// SPDX-License-Identifier: Apache-2.0

package draw

// text is the set of characters for a drawing.
type text struct {
	// junctions has the characters where up to four lines meet. The index has one digit
	// to the base 3 for each of the lines up, right, down and left, in that order: 0 for
	// none, 1 for a light line and 2 for a heavy one.
	junctions  []rune
	empty      rune // not stored, or unknown because Stored is nil
	some       rune // some chunks are stored
	stored     rune
	unknown    rune // chunks that were not looked up
	beyond     rune // beyond the array
	columnMark rune // several cells side by side
	rowMark    rune // several cells below each other
	both       rune
	times      string

	// Lines beside cells that are larger than to scale.
	stretchedColumn, stretchedRow rune

	more  string
	down  string // direction of an axis
	right string
}

var unicodeText = text{
	junctions: []rune(" ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳" +
		"╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈" +
		"╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"),
	empty: ' ', some: '░', stored: '▒', unknown: '╱', beyond: '·', columnMark: '⋯', rowMark: '⋮', both: '⋱',
	stretchedColumn: '┅', stretchedRow: '┇', times: "×", more: "…", down: "↓", right: "→",
}

var asciiText = text{
	junctions: []rune(" -=|++|++--=++++++===++++++" +
		"|++|++|++++++++++++++++++++" +
		"|++|++|++++++++++++++++++++"),
	empty: ' ', some: '+', stored: '#', unknown: '?', beyond: '.', columnMark: '~', rowMark: ':', both: '~',
	stretchedColumn: '*', stretchedRow: '*', times: "x", more: "...", down: "v", right: ">",
}
