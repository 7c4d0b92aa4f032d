"""The requests of the demo: on which day, in which words, and the part of the script that carries each out."""

from dataclasses import dataclass
from datetime import date
from typing import Final

from graphmem.agent import script_arranging, script_booking, script_later
from graphmem.agent.story import Part

POLICY: Final = (
    "You arrange journeys for one traveller. All prices are in USD. Book what the request asks for without asking "
    "again, as long as it stays within the limits that the traveller gave. Before money is moved or a booking is "
    "cancelled, read the conditions that apply, in their own words. Never cancel a booking only because something else "
    "became cheaper: compare the whole cost of switching first."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One request of the story."""

    day: date
    text: str
    part: Part


SCENES: Final = (
    Scene(
        day=date(2026, 9, 1),
        text="I speak at a conference in Oslo and need a hotel from 5 to 7 October 2026. Central and quiet, at most "
        "220 USD for the stay, and I must be able to cancel. Book the best one now; if the second best becomes cheaper "
        "later, reconsider.",
        part=script_booking.lodging,
    ),
    Scene(
        day=date(2026, 9, 2),
        text="Now the flights from London, there and back on the days of the hotel. I want to land before 15:00, leave "
        "in the evening and be home before 21:00, for under 260 USD in all. An aisle seat if that costs nothing.",
        part=script_booking.flights,
    ),
    Scene(
        day=date(2026, 9, 4),
        text="I have an Indian passport and live in London. Do I need a visa? Arrange what is needed, insurance too; I "
        "am away until 9 September, so an appointment from the 10th on.",
        part=script_arranging.papers,
    ),
    Scene(
        day=date(2026, 9, 7),
        text="Reserve a dinner for 3 on 6 October at 19:30, within a walk of my hotel. One of us is vegan, another "
        "must not eat nuts.",
        part=script_arranging.dinner,
    ),
    Scene(
        day=date(2026, 9, 9),
        text="Nordfly writes that some of its October times have changed. Look at my flights, please, and tell me "
        "whether the first day still works.",
        part=script_later.retimed,
    ),
    Scene(
        day=date(2026, 9, 12),
        text="I got this alert. Should I switch hotels? Do it if it saves money.",
        part=script_later.rethink,
    ),
    Scene(
        day=date(2026, 9, 14),
        text="Write me one itinerary with everything that is booked, and what I have spent.",
        part=script_later.itinerary,
    ),
    Scene(
        day=date(2026, 9, 20),
        text="Both of my guests for the dinner have fallen ill. Cancel it, tell me what that costs, and change the "
        "itinerary.",
        part=script_later.dinner_off,
    ),
)
