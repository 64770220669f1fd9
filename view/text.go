package view

// text is the set of characters of a drawing.
type text struct {
	// junctions has the character where four lines meet. Its index has a digit to the base 3 for each of the lines up,
	// right, down and left, in that order: 0 for none, 1 for a light and 2 for a heavy line.
	junctions  []rune
	empty      rune // elements that are not stored, or nobody knows
	some       rune // chunks of which some are stored
	stored     rune
	unknown    rune // chunks that were not looked up
	beyond     rune // elements beyond the array
	columnMark rune // several cells side by side
	rowMark    rune // several cells below each other
	both       rune
	times      string

	// Lines along cells that are larger than to scale.
	stretchedColumn, stretchedRow rune

	more  string
	down  string // the way along an axis
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
