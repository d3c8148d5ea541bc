package bgp

import (
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
)

var notificationWords = map[uint8]struct {
	name string
	sub  []string // by subcode
}{
	1: {"message header error", []string{"", "connection not synchronized", "bad message length", "bad message type"}},
	2: {"OPEN error", []string{"", "unsupported version", "wrong AS, the neighbour's is not the configured one", "bad BGP identifier", "unsupported optional parameter", "", "unacceptable hold time", "unsupported capability"}},
	3: {"UPDATE error", []string{"", "malformed attribute list", "unrecognized well-known attribute", "missing well-known attribute", "attribute flags", "attribute length", "invalid origin", "", "invalid next hop", "optional attribute", "invalid network", "malformed AS path"}},
	4: {"hold timer expired", nil},
	5: {"state machine error", []string{"", "unexpected message in OpenSent", "unexpected message in OpenConfirm", "unexpected message in Established"}},
	6: {"Cease", []string{"", "maximum number of prefixes reached", "administrative shutdown", "neighbour removed from the configuration", "administrative reset", "connection rejected", "other configuration change", "connection collision", "out of resources", "hard reset", "BFD down"}},
}

// notificationName is code and subcode in RFC 4271's and RFC 4486's words.
func notificationName(code, subcode uint8) string {
	w, ok := notificationWords[code]
	if !ok {
		return fmt.Sprintf("notification %d/%d", code, subcode)
	}
	if int(subcode) < len(w.sub) && w.sub[subcode] != "" {
		return fmt.Sprintf("%s: %s (%d/%d)", w.name, w.sub[subcode], code, subcode)
	}
	return fmt.Sprintf("%s (%d/%d)", w.name, code, subcode)
}

func notificationText(r slog.Record) string {
	name := notificationName(uint8(attr(r, "Code").Int64()), uint8(attr(r, "Subcode").Int64()))
	if text := attr(r, "Communicated-Reason").String(); text != "" && text != "<nil>" {
		name += ": " + strconv.Quote(text)
	}
	return name
}

var dialPrefix = regexp.MustCompile(`^dial tcp \S+: (connect: )?`)

// dialText is a failed connect's reason without the addresses, which are known.
func dialText(err string) string { return dialPrefix.ReplaceAllString(err, "") }

var engineNotification = regexp.MustCompile(`^notification-(sent|received) code (\d+)\(.*\) subcode (\d+)\(`)

// reasonText puts GoBGP's reason for the end of a session into operators' words.
func reasonText(reason string) string {
	if m := engineNotification.FindStringSubmatch(reason); m != nil {
		code, _ := strconv.ParseUint(m[2], 10, 8)
		subcode, _ := strconv.ParseUint(m[3], 10, 8)
		return m[1] + " " + notificationName(uint8(code), uint8(subcode))
	}
	switch reason {
	case "read-failed":
		return "the neighbour closed the connection"
	case "write-failed":
		return "the connection broke while sending"
	case "hold-timer-expired":
		return "hold timer expired: nothing heard from the neighbour"
	case "admin-down":
		return "shut down by the configuration"
	case saysRestarts:
		return "the connection to the neighbour broke"
	case "hard-reset":
		return "hard reset by the neighbour"
	case "unknown":
		return "removed from the configuration"
	}
	return reason
}
