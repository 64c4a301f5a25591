package schema

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The file identifiers of the versions that etgo reads. A flatbuffer has its
// identifier in the bytes 4 to 7.
const (
	ProgramID = "ET12"
	BundleID  = "BP08"
	DataID    = "FT01"
	ETDumpID  = "ED00"
)

// SniffLen is how many bytes of a file's head Sniff needs at most.
const SniffLen = 512

// FormatKind is a kind of file that etgo can tell from others.
type FormatKind uint8

// The kinds of files: ExecuTorch's own, then what is taken for them by mistake.
const (
	FormatUnknown FormatKind = iota
	FormatEmpty
	FormatProgram
	FormatBundle
	FormatData
	FormatETDump
	FormatFlatbuffer
	FormatZip
	FormatTorch
	FormatPickle
	FormatSafetensors
	FormatGGUF
	FormatONNX
	FormatLFSPointer
	FormatHTML
	FormatText
)

// Format tells what a file is.
type Format struct {
	Kind FormatKind
	// ID is the file identifier where the file is a flatbuffer, as in "ET12".
	ID string
	// Size is the size of the whole file, and Need the size that its head asks for
	// if that is more: the file was truncated. Else Need is 0.
	Size, Need int64
}

// Sniff tells from the first bytes of a file, SniffLen or all of them, what the
// file is. size is the size of the whole file. It looks at the head only: that
// the rest is in order is for the decoders to find out.
func Sniff(head []byte, size int64) Format {
	if size == 0 || len(head) == 0 {
		return Format{Kind: FormatEmpty}
	}
	head = head[:min(len(head), SniffLen)]
	f := Format{Size: size}
	// Flatbuffers come before what is known by its first bytes: those are an offset
	// in a flatbuffer and may be anything.
	switch {
	case isText(head):
		f.Kind = sniffText(head)
	case f.sniffFlatbuffer(head):
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		f.Kind = sniffZip(head)
	case bytes.HasPrefix(head, []byte("GGUF")):
		f.Kind = FormatGGUF
	case len(head) >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5:
		f.Kind = FormatPickle // the opcode PROTO and a protocol
	case len(head) > 8 && head[8] == '{' && binary.LittleEndian.Uint64(head) < 1<<30:
		f.Kind = FormatSafetensors // the length of a JSON header, then the header
	case len(head) > 4 && head[0] == 0x08 && head[1] > 0 && head[1] < 32 && head[2] == 0x12 && isText(head[4:min(len(head), 4+int(head[3]))]):
		f.Kind = FormatONNX // protobuf: ir_version, then producer_name
	}
	return f
}

// sniffText tells what stands in for a file from other text.
func sniffText(head []byte) FormatKind {
	start := bytes.ToLower(bytes.TrimSpace(head))
	switch {
	case bytes.HasPrefix(start, []byte("version https://git-lfs.github.com/")):
		return FormatLFSPointer
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return FormatHTML
	}
	return FormatText
}

// sniffFlatbuffer knows flatbuffers by their identifier.
func (f *Format) sniffFlatbuffer(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	f.Kind = flatbufferKind(string(head[4:8]))
	if f.Kind != FormatUnknown {
		f.ID = string(head[4:8])
	} else if len(head) >= 12 && flatbufferKind(string(head[8:12])) == FormatETDump {
		f.Kind, f.ID = FormatETDump, string(head[8:12]) // its writer puts the buffer's size in front
	}
	switch f.Kind {
	case FormatProgram:
		f.Need = declaredSize(head, "eh00", 8)
	case FormatData:
		f.Need = declaredSize(head, "FH01", 16)
	}
	if f.Need <= f.Size {
		f.Need = 0
	}
	return f.Kind != FormatUnknown
}

// flatbufferKind knows a file identifier. ExecuTorch's have a version in the last
// two letters.
func flatbufferKind(id string) FormatKind {
	switch id {
	case "TFL3", "ORTM", "XN00", "XH00":
		return FormatFlatbuffer
	}
	for _, c := range id[2:] {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return FormatUnknown
		}
	}
	switch id[:2] {
	case ProgramID[:2]:
		return FormatProgram
	case BundleID[:2]:
		return FormatBundle
	case DataID[:2]:
		return FormatData
	case ETDumpID[:2]:
		return FormatETDump
	}
	return FormatUnknown
}

// declaredSize returns the file size that an extended header asks for, 0 if there
// is none. Both headers have a size of the flatbuffer at the given offset, then
// the offset of the segments, and their size where the header is long enough.
func declaredSize(head []byte, magic string, flatbufferSize int) int64 {
	const start = 8
	end := start + flatbufferSize + 3*8
	if len(head) < end || string(head[start:start+4]) != magic {
		return 0
	}
	field := func(i int) uint64 { return binary.LittleEndian.Uint64(head[start+flatbufferSize+8*i:]) }
	need := field(0)
	if flatbufferSize == 16 { // preceded by the flatbuffer's offset
		need += field(-1)
	}
	if length := binary.LittleEndian.Uint32(head[start+4:]); int64(length) >= int64(end-start) && field(1) > 0 {
		need = max(need, field(1)+field(2))
	}
	if need > math.MaxInt64 {
		return 0 // no size, but nonsense
	}
	return int64(need)
}

// sniffZip tells PyTorch's archives from others by the name of their first entry.
func sniffZip(head []byte) FormatKind {
	const nameLen, name = 26, 30
	if len(head) < name {
		return FormatZip
	}
	n := int(binary.LittleEndian.Uint16(head[nameLen:]))
	entry := string(head[name:min(len(head), name+n)])
	_, file, _ := strings.Cut(entry, "/")
	switch file {
	case "data.pkl", "constants.pkl", "version", "byteorder", ".format_version", "archive_format", "archive_version":
		return FormatTorch
	}
	if strings.HasPrefix(file, "code/") || strings.HasPrefix(file, "data/") || entry == "serialized_exported_program.json" {
		return FormatTorch
	}
	return FormatZip
}

// isText reports whether b looks like text in UTF-8, of which the last rune may
// be cut off.
func isText(b []byte) bool {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return len(b)-i < utf8.UTFMax && i > 0 && !utf8.FullRune(b[i:])
		case r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != 0x1b, r == 0x7f:
			return false
		}
		i += n
	}
	return len(b) > 0
}

// String names the format, as in "an ExecuTorch program (ET12)".
func (f Format) String() string {
	if f.Need > 0 {
		return fmt.Sprintf("%s that is truncated: it needs %d bytes and has %d", f.name(), f.Need, f.Size)
	}
	return f.name()
}

func (f Format) name() string {
	switch f.Kind {
	case FormatEmpty:
		return "an empty file"
	case FormatProgram:
		return "an ExecuTorch program (" + f.ID + ")"
	case FormatBundle:
		return "a bundled program (.bpte, " + f.ID + ")"
	case FormatData:
		return "an ExecuTorch data file (.ptd, " + f.ID + ")"
	case FormatETDump:
		return "an ETDump profile (" + f.ID + ")"
	case FormatFlatbuffer:
		switch f.ID {
		case "TFL3":
			return "a TensorFlow Lite model"
		case "ORTM":
			return "an ONNX Runtime model (.ort)"
		}
		return "the payload of an XNNPACK delegate (" + f.ID + ")"
	case FormatZip:
		return "a zip archive"
	case FormatTorch:
		return "a PyTorch archive (a checkpoint, TorchScript or torch.export's .pt2)"
	case FormatPickle:
		return "a Python pickle (an old PyTorch checkpoint?)"
	case FormatSafetensors:
		return "a safetensors file"
	case FormatGGUF:
		return "a GGUF file"
	case FormatONNX:
		return "an ONNX model"
	case FormatLFSPointer:
		return "a git-lfs pointer"
	case FormatHTML:
		return "a web page"
	case FormatText:
		return "a text file"
	}
	return "of no known format"
}

// hint says what to do with a file that was given as a program, a bundle or a
// data file and is none.
func (f Format) hint() string {
	switch f.Kind {
	case FormatProgram:
		return "; open it as a program"
	case FormatBundle:
		return "; open it as a bundle"
	case FormatData:
		return "; give it as a data file beside its program"
	case FormatTorch, FormatPickle, FormatSafetensors, FormatONNX, FormatGGUF:
		return "; export the model with ExecuTorch to get a .pte"
	case FormatZip:
		return " (a PyTorch checkpoint or TorchScript?)"
	case FormatLFSPointer:
		return "; run git lfs pull"
	case FormatHTML:
		return "; the download went wrong"
	}
	return ""
}

// Expect returns nil if the file with the given head and size has the file
// identifier id, one of ProgramID, BundleID, DataID and ETDumpID. The error says
// what the file is instead and what to do with it.
func Expect(id string, head []byte, size int64) error {
	f := Sniff(head, size)
	if f.ID == id {
		return nil
	}
	want := map[string]string{
		ProgramID: "an ExecuTorch program", BundleID: "a bundled program", DataID: "an ExecuTorch data file", ETDumpID: "an ETDump profile",
	}[id]
	if len(f.ID) == 4 && f.ID[:2] == id[:2] && f.Kind != FormatFlatbuffer {
		return fmt.Errorf("%s of another version: %s expected, file says %s", want, id, f.ID)
	}
	return fmt.Errorf("not %s (%s): %v%s", want, id, f, f.hint())
}
