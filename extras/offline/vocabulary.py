"""Words that need no argument: those that carry nothing to select by, and what each capability does anyway."""

from __future__ import annotations

CARRY_NOTHING = frozenset(
    "a an the this that these those it its them their they he she his her i me my mine we us our you your"
    " and then also too so if whether of for from in on at by with about into onto to as over through up out off via"
    " is are was were be been being am do does did have has had can could would will shall may might should must"
    " let there here any some all every each both either anything something everything someone anyone nothing"
    " what which who whom whose where when how much many why please just only even actually maybe kindly ok okay"
    " tell show give list get find see look check read know want need like make take put one ones thing things"
    " now currently right moment whole full complete exact entire same other another more"
    " regarding concerning related mention mentions mentioning mentioned contain contains containing include includes"
    " including discuss discusses talk talks talking say says saying said refer refers hold holds word words phrase"
    " called named titled entitled i'm i've i'd i'll we're we've it's that's what's who's there's let's you've you're"
    " where's when's s t re ve d ll m up-to-date first finally lastly next afterwards once done text line lines followed"
    " found own available existing used appear appears anywhere already again given whatever showing reading looking checking"
    " whats wheres matches match listing list figure value answer id number address ask asked down sitting lying"
    " come comes came up turn turns result results output outcome back together"
    " which's details information info overview".split()
)

NARROWING = frozenset(
    "unread starred flagged important urgent unanswered answered archived spam attachment attachments attached pdf"
    " largest biggest smallest longest shortest oldest earliest older newer longer shorter bigger larger smaller"
    " highest lowest higher lower above below under most least fewer sorted sort ordered grouped ascending descending"
    " size backwards reverse alphabetical alphabetically duplicate duplicates recurring overdue"
    " or assigned assignee priority except excluding without not no never isn't aren't don't doesn't haven't hasn't didn't"
    " than since until till between during ago within yesterday tomorrow tonight week weeks month months year years"
    " day days hour hours minute minutes today monday tuesday wednesday thursday friday saturday sunday weekend"
    " january february march april june july august september october november december morning afternoon evening"
    " second third fourth fifth average mean median percent percentage per random outside after before quarter"
    " modified changed edited updated created deleted removed accepted declined overlap overlapping"
    " paragraph paragraphs page pages chapter column columns row rows folder archive cc bcc".split()
)

_MAIL = (
    "mail mails email emails e-mail e-mails message messages inbox mailbox letter newest latest recent last new incoming"
    " sent send sends wrote write writes written mailed emailed get got received receive reply replied charge charged"
    " bill billed ask asked ever already yet recently sender correspondence"
)
_FILE = "file files inside document documents docs note notes workspace contents content text line lines open"
_TICKET = (
    "ticket tickets open closed or still status database title titles resolved finished issue issues current"
)

VOCABULARY: dict[str, frozenset[str]] = {
    capability: frozenset(words.split())
    for capability, words in {
        "mail.search": _MAIL,
        "tickets.list": _TICKET,
        "files.list": f"{_FILE} folder directory inside under within",
        "files.read": _FILE,
        "files.read_all": f"{_FILE} folder directory under below within",
        "files.search": f"{_FILE} occurrences occurrence occur folder directory inside across throughout within",
        "calendar.list": "calendar agenda diary meeting meetings appointment appointments event events scheduled"
        " coming schedule planned plans anything up",
        "memory.search": "memory memories remember remembered told tell know known asked recall noted still",
        "memory.write": "memory remember note mind down forget keep fact later tag tagged tags",
        "memory.forget": "memory forget remembered told",
        "datetime.now": "time date day weekday now today today's current local week is late clock",
        "text.summarize": "summary summarize summarise gist recap short brief quick sentence sentences line lines text"
        " sum condense shorten boil main points",
        "text.extract": "extract due total value number invoice amount",
        "tickets.create": "ticket new title titled amount body description text issue bug task",
        "files.write": "file note text markdown new content contents md document report digest overview weekly daily",
        "channel.post": "team #team channel slack everyone colleagues message note heads-up update word announcement chat report digest overview",
        "documents.create": "csv spreadsheet html page table document markdown new file listing",
        "mail.draft": "prepare make create write mail email e-mail draft subject reply message body",
        "mail.send": "mail email e-mail subject message body send attach attached attaching attachment file to",
        "http.request": "url page website site http https web address endpoint api request answer response return returns give gives",
    }.items()
}
