export const en = {
  form: {
    title: "New notification", bucket: "Bucket", template: "Template", noTemplate: "None", heading: "Title", subtitle: "Subtitle", body: "Text",
    priority: "Priority", deliver: "Deliver at", deliverHint: "Empty: now", attachment: "Link to an image or file", send: "Publish",
    schedule: "Schedule", sent: "Published", scheduled: (time = "") => `Scheduled for ${time}`, name: "Name", create: "Create",
    noBucket: "Create a bucket first.",
  },
  snoozes: { hour: "In one hour", evening: "This evening", morning: "Tomorrow morning", other: "Another time" },
  quietTexts: {
    explanation: "During quiet hours notifications are held. Critical ones are not.",
    zone: (zone = "") => `Times are in ${zone}.`, none: "There are no quiet hours.", add: "Add a window", days: "Days", from: "From", to: "To",
    saved: "Quiet hours saved", remove: (window = "") => `Remove ${window}`, windows: "Windows", everyDay: "Every day", day: "Day", hours: "Quiet",
  },
};
